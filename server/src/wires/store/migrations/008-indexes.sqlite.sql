create table store_indexes (
  id integer primary key autoincrement,
  collection text not null,
  fields text not null,           -- JSON: [{"path": ["author", "name"], "descending": false}]
  is_unique integer not null,
  by_owner integer not null,      -- lists of the collection are those of one owner: its entries carry the owner
  source text not null check (source in ('declared', 'automatic')),
  -- Entries are written in the first two; a failed one is built again at the next start, a dropped one has entries to delete.
  state text not null check (state in ('building', 'ready', 'failed', 'dropped')),
  reason text,                    -- why it failed
  format integer not null,        -- of the entries' keys
  has_arrays integer not null default 0, -- a document may have several entries
  has_cut_keys integer not null default 0, -- keys may end before their values do
  build integer not null default 0, -- how many builds have begun: one that stood still ends with the next one
  documents integer not null default 0, -- how many documents the build has inserted
  created_at integer not null,
  finished_at integer
);

create index store_indexes_collection on store_indexes (collection);

-- Counts the changes of a collection's indexes; no row, or 0, means that it has never had one. A write names the version that
-- its entries are of, and fails if it is another one by now.
create table store_index_sets (
  collection text primary key,
  version integer not null
) without rowid;

create table store_entries (
  index_id integer not null,
  key blob not null,              -- of all fields, compared as bytes; see entries.ts
  id text not null,               -- of the document
  owner text,                     -- null if lists are not those of one owner
  ends integer not null,          -- 1: the first entry of its document, 2: the last one, 3: the only one, 0: between, -1: dead
  is_unique integer,              -- 1, or null
  primary key (index_id, key, id)
) without rowid;

create index store_entries_owner on store_entries (index_id, owner, key, id) where owner is not null;
create unique index store_entries_unique on store_entries (index_id, key) where is_unique;
-- What an index that is built does not have any more; none when it is ready.
create index store_entries_dead on store_entries (index_id) where ends = -1;

-- Of an insert only: the version that its entries are of.
alter table store_documents add column index_set integer not null default 0;

create trigger store_documents_index_set before insert on store_documents
when new.index_set <> coalesce((select version from store_index_sets where collection = new.collection), 0)
begin
  select raise(abort, 'the indexes of the collection have changed');
end;
