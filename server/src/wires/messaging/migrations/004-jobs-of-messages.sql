-- Every message that is not settled has a job from now on, also one that a request sends: it takes the place of leases on
-- messages, and of the sweeps for those that were left behind. Messages of the version before may have a job or none.
delete from sixwire_jobs where kind in ('messaging.send', 'messaging.sweep', 'messaging.sweep-forgotten');

-- Mails of the service are in the lane of their address, as later ones will be.
insert into sixwire_jobs (id, kind, payload, lane, state, run_at, attempts, created_at)
select 'messaging-' || id, 'messaging.send', '{"messageId":"' || id || '"}',
  case when owner is null and channel = 'email' then (select min(address) from messaging_recipients where message_id = id) end,
  'ready', lease_until, 0, created_at
from messaging_messages where status in ('queued', 'sending') order by created_at, id;

drop index messaging_messages_claimed;
update messaging_messages set lease_until = 0 where lease_until > 0;
