-- What an account changed leaves the log in the batch that deletes the account, whose entry in the audit log tells the id. Who has
-- not read it all is behind the floor then, and lists again.
create index store_changes_owner on store_changes (owner);

create trigger store_changes_of_deleted_account after insert on sixwire_audit
when new.action = 'user.deleted' and new.outcome = 'done'
begin
  update store_feed set floor_seq = max(floor_seq, coalesce(
    (select max(seq) from store_changes where owner = substr(new.target, 6)), 0));
  delete from store_changes where owner = substr(new.target, 6);
end;
