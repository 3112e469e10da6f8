-- Every message that is not settled has a job from now on, also one that a request sends: it takes the place of leases on
-- messages, and of the sweeps for those that were left behind. Messages of the version before may have a job or none.
delete from sixwire_jobs where kind in ('messaging.send', 'messaging.sweep', 'messaging.sweep-forgotten');

insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
select 'messaging-' || id, 'messaging.send', '{"messageId":"' || id || '"}', 'ready', lease_until, 0, created_at
from messaging_messages where status in ('queued', 'sending');

drop index messaging_messages_claimed;
update messaging_messages set lease_until = 0 where lease_until > 0;
