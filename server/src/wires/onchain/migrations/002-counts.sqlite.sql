-- The totals of the lists are counted as records come and go.
insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.wallets', '', 0, count(*) from onchain_wallets
  union all
  select 'onchain.wallets', owner, 0, count(*) from onchain_wallets group by owner;

create trigger onchain_wallets_added after insert on onchain_wallets begin
  insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.wallets', per.owner, 0, 1 from (select '' as owner union all select new.owner) as per
  where true
  on conflict (list, owner, slot) do update set records = records + 1;
end;

create trigger onchain_wallets_removed after delete on onchain_wallets begin
  update sixwire_counts set records = records - 1
  where list = 'onchain.wallets' and owner in ('', old.owner) and slot = 0;
end;

insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.transactions', '', 0, count(*) from onchain_transactions
  union all
  select 'onchain.transactions', owner, 0, count(*) from onchain_transactions group by owner;

create trigger onchain_transactions_added after insert on onchain_transactions begin
  insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.transactions', per.owner, 0, 1 from (select '' as owner union all select new.owner) as per
  where true
  on conflict (list, owner, slot) do update set records = records + 1;
end;

create trigger onchain_transactions_removed after delete on onchain_transactions begin
  update sixwire_counts set records = records - 1
  where list = 'onchain.transactions' and owner in ('', old.owner) and slot = 0;
end;
