-- What an account changed leaves the log in the batch that deletes the account, whose entry in the audit log tells the id. Who has
-- not read it all is behind the floor then, and lists again. The floor is never where changes may still appear in front of it:
-- if such changes are among those that go, the log becomes another one, and all list again.
create index store_changes_owner on store_changes (owner);

create function store_forget_account() returns trigger language plpgsql as $$
declare
  last record;
begin
  with gone as (delete from store_changes where owner = substr(new.target, 6) returning xid, seq)
  select xid::text::bigint as xid, seq, xid < pg_snapshot_xmin(pg_current_snapshot()) as is_read into last
  from gone order by gone.xid desc, seq desc limit 1;
  if last.is_read then
    update store_feed set floor_xid = last.xid, floor_seq = last.seq
    where (floor_xid, floor_seq) < (last.xid, last.seq);
  elsif not last.is_read then
    update store_feed set generation = gen_random_uuid()::text;
    update store_change_readers set generation = (select generation from store_feed);
  end if;
  return null;
end
$$;

create trigger store_changes_of_deleted_account after insert on sixwire_audit
for each row when (new.action = 'user.deleted' and new.outcome = 'done') execute function store_forget_account();
