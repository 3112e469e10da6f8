-- The log's totals are counted as messages come and go.
insert into sixwire_counts (list, owner, slot, records)
  select 'messaging.messages', '', 0, count(*) from messaging_messages
  union all
  select 'messaging.messages', owner, 0, count(*) from messaging_messages where owner is not null group by owner;

create trigger messaging_messages_added after insert on messaging_messages
referencing new table as changed for each statement execute function sixwire_count_records('messaging.messages');

create trigger messaging_messages_removed after delete on messaging_messages
referencing old table as changed for each statement execute function sixwire_count_records('messaging.messages');
