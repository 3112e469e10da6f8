-- Entries of the audit log are never changed, and deleted by the retention only: it says until when in its own batch.
create table sixwire_audit_retention (
  id integer primary key check (id = 1),
  deletes_before bigint not null          -- milliseconds since 1970; 0 outside of the batch that deletes
);
insert into sixwire_audit_retention values (1, 0);

create function sixwire_keep_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.created_at < (select deletes_before from sixwire_audit_retention) then
      return old;
    end if;
    raise exception 'an entry of the audit log is deleted when its time is over, and not before' using errcode = 'SX001';
  end if;
  raise exception 'an entry of the audit log is never changed' using errcode = 'SX001';
end
$$;

create trigger sixwire_audit_kept before update or delete on sixwire_audit
for each row execute function sixwire_keep_audit();

create trigger sixwire_audit_emptied before truncate on sixwire_audit
for each statement execute function sixwire_keep_audit();
