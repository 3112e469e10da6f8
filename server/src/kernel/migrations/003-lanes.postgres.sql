-- Jobs of one lane run one after the other. Of the jobs of a lane that are not done, the one with the lowest `seq` is
-- 'ready', and the others are 'waiting', so that to claim work means to look at ready rows only. These triggers keep it so.

alter table sixwire_jobs add column lane text;   -- of its kind; null: in no order
alter table sixwire_jobs add column seq bigint;  -- the place in its lane; null: in no lane, or failed

drop index sixwire_jobs_due;
create index sixwire_jobs_due on sixwire_jobs (kind, run_at) where state = 'ready';
create index sixwire_jobs_failed on sixwire_jobs (kind, id) where state = 'failed';
create index sixwire_jobs_lane on sixwire_jobs (kind, lane, seq, state) where seq is not null;

-- A lane has a row exactly while it has jobs that are not done. Whoever adds a job or ends one changes that row first,
-- so both wait for each other until they are committed, and `seq` is in the order of the commits.
create table sixwire_lanes (
  kind text not null,
  lane text not null,
  last_seq bigint not null,
  primary key (kind, lane)
) with (fillfactor = 50);

create function sixwire_enter_lane() returns trigger language plpgsql as $$
declare
  place bigint;
begin
  insert into sixwire_lanes values (new.kind, new.lane, 1)
  on conflict (kind, lane) do update set last_seq = sixwire_lanes.last_seq + 1
  returning last_seq into place;
  -- The first one made the row. What else is in the lane is not asked: a serializable transaction could not see it.
  update sixwire_jobs set seq = place, state = case when place = 1 then 'ready' else 'waiting' end
  where id = new.id;
  return null;
end
$$;

create function sixwire_leave_lane() returns trigger language plpgsql as $$
begin
  update sixwire_lanes set last_seq = last_seq + 1 where kind = old.kind and lane = old.lane;
  -- From here on nobody else adds to the lane, and this statement sees what was added until now.
  update sixwire_jobs set state = 'ready' where state = 'waiting' and id = (
    select id from sixwire_jobs
    where kind = old.kind and lane = old.lane and seq is not null order by seq limit 1);
  delete from sixwire_lanes where kind = old.kind and lane = old.lane and not exists (
    select 1 from sixwire_jobs where kind = old.kind and lane = old.lane and seq is not null);
  return null;
end
$$;

create trigger sixwire_jobs_inserted after insert on sixwire_jobs
for each row when (new.lane is not null) execute function sixwire_enter_lane();

create trigger sixwire_jobs_revived after update of state on sixwire_jobs
for each row when (new.lane is not null and old.state = 'failed' and new.state = 'ready')
execute function sixwire_enter_lane();

create trigger sixwire_jobs_deleted after delete on sixwire_jobs
for each row when (old.seq is not null) execute function sixwire_leave_lane();

create trigger sixwire_jobs_failed after update of state on sixwire_jobs
for each row when (old.seq is not null and new.seq is null) execute function sixwire_leave_lane();
