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

create or replace function sixwire_keep_audit() returns trigger language plpgsql as $$
declare
  cleared record;
begin
  if tg_op = 'DELETE' then
    if old.created_at < (select deletes_before from sixwire_audit_retention) then
      return old;
    end if;
    raise exception 'an entry of the audit log is deleted when its time is over, and not before' using errcode = 'SX001';
  end if;
  if tg_op = 'UPDATE' and (select is_clearing from sixwire_audit_retention) = 1 then
    cleared := old;
    if new.ip is null then cleared.ip := null; end if;
    if new.user_agent is null then cleared.user_agent := null; end if;
    if new.old_value is null then cleared.old_value := null; end if;
    if new.new_value is null then cleared.new_value := null; end if;
    if new.reason is null then cleared.reason := null; end if;
    if new is not distinct from cleared then
      return new;
    end if;
  end if;
  raise exception 'an entry of the audit log is never changed' using errcode = 'SX001';
end
$$;

-- The account that the record of an event belongs to: what a document says does not tell it.
alter table sixwire_deliveries add column owner text;
