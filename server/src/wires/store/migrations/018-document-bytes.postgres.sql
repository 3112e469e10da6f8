-- How many bytes documents take, counted where they are counted, for the quota.
alter table store_counts add column bytes bigint not null default 0;

update store_counts set bytes = stored.bytes
from (
  select collection, per.owner, sum(bytes) as bytes
  from store_documents cross join lateral (values (''), (owner)) as per (owner)
  group by collection, per.owner) as stored
where store_counts.collection = stored.collection and store_counts.owner = stored.owner
  and store_counts.slot = (
    select min(slot) from store_counts as others
    where others.collection = stored.collection and others.owner = stored.owner);

create index store_counts_owner on store_counts (owner);

create or replace function store_count_statement() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' and exists (
    select 1 from (select distinct collection, index_set from changed) as written
    left join store_index_sets as sets on sets.collection = written.collection
    where written.index_set <> coalesce(sets.version, 0)
  ) then
    raise exception 'the indexes of the collection have changed' using errcode = 'SX001';
  end if;
  -- In one order everywhere, so that two writers never wait for each other in a circle.
  insert into store_counts as counts (collection, owner, slot, documents, bytes)
  select changed.collection, per.owner, pg_backend_pid() % 16,
    case tg_op when 'INSERT' then count(*) else -count(*) end,
    case tg_op when 'INSERT' then sum(changed.bytes) else -sum(changed.bytes) end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  group by changed.collection, per.owner
  order by changed.collection, per.owner collate "C"
  on conflict (collection, owner, slot) do update set
    documents = counts.documents + excluded.documents, bytes = counts.bytes + excluded.bytes;
  return null;
end
$$;

create function store_count_bytes() returns trigger language plpgsql as $$
begin
  insert into store_counts as counts (collection, owner, slot, documents, bytes)
  select after.collection, per.owner, pg_backend_pid() % 16, 0, sum(after.bytes - before.bytes)
  from before join after using (collection, id) cross join lateral (values (''), (after.owner)) as per (owner)
  where after.bytes <> before.bytes
  group by after.collection, per.owner
  order by after.collection, per.owner collate "C"
  on conflict (collection, owner, slot) do update set bytes = counts.bytes + excluded.bytes;
  return null;
end
$$;

create trigger store_documents_resized after update on store_documents
referencing old table as before new table as after for each statement execute function store_count_bytes();
