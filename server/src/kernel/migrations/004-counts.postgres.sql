-- How many records a list holds, in all (owner '') and of each owner, so that no list has to count them.
-- Each connection counts in one of sixteen slots: writers at the same time do not wait for one row.
create table sixwire_counts (
  list text collate "C" not null,
  owner text collate "C" not null,
  slot integer not null,
  records bigint not null,
  primary key (list, owner, slot)
) with (fillfactor = 50);

-- For a trigger that runs once a statement: its argument is the name of the list, its transition table is `changed`. A record
-- whose `owner` is null is counted among all.
create function sixwire_count_records() returns trigger language plpgsql as $$
begin
  -- In one order everywhere, so that two writers never wait for each other in a circle.
  insert into sixwire_counts as counts (list, owner, slot, records)
  select tg_argv[0], per.owner, pg_backend_pid() % 16, case tg_op when 'INSERT' then count(*) else -count(*) end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  where per.owner is not null
  group by per.owner
  order by per.owner collate "C"
  on conflict (list, owner, slot) do update set records = counts.records + excluded.records;
  return null;
end
$$;
