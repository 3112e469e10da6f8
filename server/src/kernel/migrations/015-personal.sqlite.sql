-- Exports of the data of persons: one for each account. The archive is in the storage of files, under a key made of the id.
create table sixwire_exports (
  account text primary key,
  id text not null unique,
  state text not null check (state in ('running', 'ready', 'failed')),
  size bigint,                            -- of the archive, in bytes
  created_at bigint not null,             -- milliseconds since 1970
  deleted_at bigint not null              -- when the archive is deleted, and before that, when the export is given up
);
create index sixwire_exports_deleted on sixwire_exports (deleted_at);

-- What was personal in entries of a deleted account becomes null, in a batch that says so. All else stays as it was written.
alter table sixwire_audit_retention add column is_clearing bigint not null default 0;

drop trigger sixwire_audit_changed;
create trigger sixwire_audit_changed before update on sixwire_audit
when (select is_clearing from sixwire_audit_retention) = 0
  or new.id is not old.id or new.created_at is not old.created_at or new.action is not old.action
  or new.target is not old.target or new.outcome is not old.outcome or new.actor_kind is not old.actor_kind
  or new.actor_id is not old.actor_id or new.actor_role is not old.actor_role
  or new.impersonator_id is not old.impersonator_id or new.session_id is not old.session_id
  or new.request_id is not old.request_id or new.route is not old.route
  or (new.ip is not null and new.ip is not old.ip)
  or (new.user_agent is not null and new.user_agent is not old.user_agent)
  or (new.old_value is not null and new.old_value is not old.old_value)
  or (new.new_value is not null and new.new_value is not old.new_value)
  or (new.reason is not null and new.reason is not old.reason)
begin
  select raise(abort, 'an entry of the audit log is never changed');
end;

-- The account that the record of an event belongs to: what a document says does not tell it.
alter table sixwire_deliveries add column owner text;
