create table store_indexes (
  id bigint generated always as identity primary key,
  collection text collate "C" not null,
  fields text collate "C" not null,           -- JSON: [{"path": ["author", "name"], "descending": false}]
  is_unique boolean not null,
  by_owner boolean not null,        -- lists of the collection are those of one owner: its entries carry the owner
  source text collate "C" not null check (source in ('declared', 'automatic')),
  -- Entries are written in the first two; a failed one is built again at the next start, a dropped one has entries to delete.
  state text collate "C" not null check (state in ('building', 'ready', 'failed', 'dropped')),
  reason text collate "C",                    -- why it failed
  format integer not null,          -- of the entries' keys
  has_arrays boolean not null default false, -- a document may have several entries
  has_cut_keys boolean not null default false, -- keys may end before their values do
  build bigint not null default 0,  -- how many builds have begun: one that stood still ends with the next one
  documents bigint not null default 0,        -- how many documents the build has inserted
  created_at bigint not null,
  finished_at bigint
);

create index store_indexes_collection on store_indexes (collection);

-- Counts the changes of a collection's indexes; no row, or 0, means that it has never had one. A write names the version that
-- its entries are of, and fails if it is another one by now.
create table store_index_sets (
  collection text collate "C" primary key,
  version bigint not null
);

create table store_entries (
  index_id bigint not null,
  key bytea not null,               -- of all fields, compared as bytes; see entries.ts
  id text collate "C" not null,     -- of the document
  owner text collate "C",           -- null if lists are not those of one owner
  ends integer not null,            -- 1: the first entry of its document, 2: the last one, 3: the only one, 0: between, -1: dead
  is_unique boolean,                -- true, or null
  primary key (index_id, key, id)
);

create index store_entries_owner on store_entries (index_id, owner, key, id) where owner is not null;
create unique index store_entries_unique on store_entries (index_id, key) where is_unique;
-- What an index that is built does not have any more; none when it is ready.
create index store_entries_dead on store_entries (index_id) where ends = -1;

-- Of an insert only: the version that its entries are of.
alter table store_documents add column index_set bigint not null default 0;

-- In one function with the counting, so that a statement runs one trigger.
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
  insert into store_counts as counts (collection, owner, slot, documents)
  select changed.collection, per.owner, pg_backend_pid() % 16,
    case tg_op when 'INSERT' then count(*) else -count(*) end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  group by changed.collection, per.owner
  order by changed.collection, per.owner collate "C"
  on conflict (collection, owner, slot) do update set documents = counts.documents + excluded.documents;
  return null;
end
$$;
