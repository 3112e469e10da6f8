-- What an operator sees of the events: a place in a list, the state, the transaction, and the body without what is personal.
alter table pay_events add column id text;                 -- begins with the time of receipt, as every id
alter table pay_events add column state text not null default 'pending'
  check (state in ('pending', 'done', 'ignored', 'failed')); -- failed: handled again at due_at, if there is one
alter table pay_events add column transaction_id text;     -- that it was recorded for
alter table pay_events add column payload text;            -- JSON, masked; null: not sent, or too large

update pay_events set id = substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 45) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 40) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 35) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 30) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 25) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 20) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 15) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 10) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 5) & 31) as integer) + 1, 1) ||
  substr('0123456789abcdefghjkmnpqrstvwxyz', cast(((received_at >> 0) & 31) as integer) + 1, 1) ||
  substr('0000000000000000' || numbered.place, length(numbered.place) + 1)
from (
  select provider, event_id, cast(row_number() over (order by received_at, provider, event_id) as text) as place
  from pay_events) as numbered
where numbered.provider = pay_events.provider and numbered.event_id = pay_events.event_id;
update pay_events set transaction_id = substr(result, length('recorded for ') + 1) where result like 'recorded for %';
update pay_events set state = case
  when transaction_id is not null then 'done'
  when result in ('not used', 'not a transaction of this server') then 'ignored'
  when result is null then 'pending' else 'failed' end;

create unique index pay_events_id on pay_events (id);
create index pay_events_state on pay_events (state, id);
create index pay_events_transaction on pay_events (transaction_id, id) where transaction_id is not null;
