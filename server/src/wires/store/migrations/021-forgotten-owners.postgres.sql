-- What an account changed leaves the log once more when its documents are erased: the same function for both times.
create function store_forget_owner(gone_owner text) returns void language plpgsql as $$
declare
  last record;
begin
  with gone as (delete from store_changes where owner = gone_owner returning xid, seq)
  select xid::text::bigint as xid, seq, xid < pg_snapshot_xmin(pg_current_snapshot()) as is_read into last
  from gone order by gone.xid desc, seq desc limit 1;
  if last.is_read then
    update store_feed set floor_xid = last.xid, floor_seq = last.seq
    where (floor_xid, floor_seq) < (last.xid, last.seq);
  elsif not last.is_read then
    update store_feed set generation = gen_random_uuid()::text;
    update store_change_readers set generation = (select generation from store_feed);
  end if;
end
$$;

create or replace function store_forget_account() returns trigger language plpgsql as $$
begin
  perform store_forget_owner(substr(new.target, 6));
  return null;
end
$$;
