-- The totals of the list, by provider and status, are counted as transactions come, change and go.
insert into sixwire_facet_changes select 'pay.transactions', owner, json_array(provider, status), count(*)
  from pay_transactions group by owner, provider, status;

create trigger pay_transactions_added after insert on pay_transactions begin
  insert into sixwire_facet_changes values ('pay.transactions', new.owner, json_array(new.provider, new.status), 1);
end;

create trigger pay_transactions_removed after delete on pay_transactions begin
  insert into sixwire_facet_changes values ('pay.transactions', old.owner, json_array(old.provider, old.status), -1);
end;

create trigger pay_transactions_changed after update of provider, status on pay_transactions begin
  insert into sixwire_facet_changes values
    ('pay.transactions', old.owner, json_array(old.provider, old.status), -1),
    ('pay.transactions', new.owner, json_array(new.provider, new.status), 1);
end;
