-- The totals of the lists are counted as records come and go.
insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.wallets', '', 0, count(*) from onchain_wallets
  union all
  select 'onchain.wallets', owner, 0, count(*) from onchain_wallets group by owner;

create trigger onchain_wallets_added after insert on onchain_wallets
referencing new table as changed for each statement execute function sixwire_count_records('onchain.wallets');

create trigger onchain_wallets_removed after delete on onchain_wallets
referencing old table as changed for each statement execute function sixwire_count_records('onchain.wallets');

insert into sixwire_counts (list, owner, slot, records)
  select 'onchain.transactions', '', 0, count(*) from onchain_transactions
  union all
  select 'onchain.transactions', owner, 0, count(*) from onchain_transactions group by owner;

create trigger onchain_transactions_added after insert on onchain_transactions
referencing new table as changed for each statement execute function sixwire_count_records('onchain.transactions');

create trigger onchain_transactions_removed after delete on onchain_transactions
referencing old table as changed for each statement execute function sixwire_count_records('onchain.transactions');
