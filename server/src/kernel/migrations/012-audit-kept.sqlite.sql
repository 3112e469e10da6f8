-- Entries of the audit log are never changed, and deleted by the retention only: it says until when in its own batch.
create table sixwire_audit_retention (
  id integer primary key check (id = 1),
  deletes_before bigint not null          -- milliseconds since 1970; 0 outside of the batch that deletes
);
insert into sixwire_audit_retention values (1, 0);

create trigger sixwire_audit_changed before update on sixwire_audit begin
  select raise(abort, 'an entry of the audit log is never changed');
end;

create trigger sixwire_audit_deleted before delete on sixwire_audit
when old.created_at >= (select deletes_before from sixwire_audit_retention) begin
  select raise(abort, 'an entry of the audit log is deleted when its time is over, and not before');
end;
