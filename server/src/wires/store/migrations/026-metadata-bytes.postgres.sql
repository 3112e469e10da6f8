-- The metadata of files count as their bytes do, unless they are empty.
create function store_metadata_bytes(metadata json) returns bigint immutable language sql as $$
  select case metadata::text when '{}' then 0 else octet_length(metadata::text) end
$$;

create or replace function store_count_files() returns trigger language plpgsql as $$
begin
  -- In one order everywhere, so that two writers never wait for each other in a circle.
  insert into store_usage as used (owner, slot, files, bytes)
  select per.owner, pg_backend_pid() % 16,
    case tg_op when 'INSERT' then count(*) else -count(*) end,
    sum(changed.size + store_metadata_bytes(changed.metadata)) * case tg_op when 'INSERT' then 1 else -1 end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  group by per.owner
  order by per.owner collate "C"
  on conflict (owner, slot) do update
    set files = used.files + excluded.files, bytes = used.bytes + excluded.bytes;
  return null;
end
$$;

create function store_count_metadata() returns trigger language plpgsql as $$
begin
  insert into store_usage as used (owner, slot, files, bytes)
  select owner, pg_backend_pid() % 16, 0, store_metadata_bytes(new.metadata) - store_metadata_bytes(old.metadata)
  from (values (''), (new.owner)) as per (owner)
  order by owner collate "C"
  on conflict (owner, slot) do update set bytes = used.bytes + excluded.bytes;
  return null;
end
$$;

create trigger store_files_described after update of metadata on store_files
for each row when (old.metadata::text <> new.metadata::text) execute function store_count_metadata();

insert into store_usage as used (owner, slot, files, bytes)
select per.owner, 0, 0, sum(store_metadata_bytes(metadata))
from store_files cross join lateral (values (''), (store_files.owner)) as per (owner)
where metadata::text <> '{}'
group by per.owner
on conflict (owner, slot) do update set bytes = used.bytes + excluded.bytes;
