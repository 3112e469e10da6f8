-- Jobs of one lane run one after the other. Of the jobs of a lane that are not done, the one with the lowest `seq` is
-- 'ready', and the others are 'waiting', so that to claim work means to look at ready rows only. These triggers keep it so.

alter table sixwire_jobs add column lane text;   -- of its kind; null: in no order
alter table sixwire_jobs add column seq bigint;  -- the place in its lane; null: in no lane, or failed

drop index sixwire_jobs_due;
create index sixwire_jobs_due on sixwire_jobs (kind, run_at) where state = 'ready';
create index sixwire_jobs_failed on sixwire_jobs (kind, id) where state = 'failed';
create index sixwire_jobs_lane on sixwire_jobs (kind, lane, seq, state) where seq is not null;

create trigger sixwire_jobs_inserted after insert on sixwire_jobs when new.lane is not null begin
  update sixwire_jobs set
    seq = 1 + coalesce(
      (select max(seq) from sixwire_jobs where kind = new.kind and lane = new.lane and seq is not null), 0),
    state = case when exists (
      select 1 from sixwire_jobs where kind = new.kind and lane = new.lane and seq is not null
    ) then 'waiting' else 'ready' end
  where id = new.id;
end;

create trigger sixwire_jobs_revived after update of state on sixwire_jobs
when new.lane is not null and old.state = 'failed' and new.state = 'ready' begin
  update sixwire_jobs set
    seq = 1 + coalesce(
      (select max(seq) from sixwire_jobs where kind = new.kind and lane = new.lane and seq is not null), 0),
    state = case when exists (
      select 1 from sixwire_jobs where kind = new.kind and lane = new.lane and seq is not null
    ) then 'waiting' else 'ready' end
  where id = new.id;
end;

create trigger sixwire_jobs_deleted after delete on sixwire_jobs when old.seq is not null begin
  update sixwire_jobs set state = 'ready' where state = 'waiting' and id = (
    select id from sixwire_jobs
    where kind = old.kind and lane = old.lane and seq is not null order by seq limit 1);
end;

create trigger sixwire_jobs_failed after update of state on sixwire_jobs
when old.seq is not null and new.seq is null begin
  update sixwire_jobs set state = 'ready' where state = 'waiting' and id = (
    select id from sixwire_jobs
    where kind = old.kind and lane = old.lane and seq is not null order by seq limit 1);
end;
