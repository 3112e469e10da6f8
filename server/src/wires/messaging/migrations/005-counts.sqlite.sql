-- The log's totals are counted as messages come and go.
insert into sixwire_counts (list, owner, slot, records)
  select 'messaging.messages', '', 0, count(*) from messaging_messages
  union all
  select 'messaging.messages', owner, 0, count(*) from messaging_messages where owner is not null group by owner;

create trigger messaging_messages_added after insert on messaging_messages begin
  insert into sixwire_counts (list, owner, slot, records)
  select 'messaging.messages', per.owner, 0, 1 from (select '' as owner union all select new.owner) as per
  where per.owner is not null
  on conflict (list, owner, slot) do update set records = records + 1;
end;

create trigger messaging_messages_removed after delete on messaging_messages begin
  update sixwire_counts set records = records - 1
  where list = 'messaging.messages' and owner in ('', old.owner) and slot = 0;
end;
