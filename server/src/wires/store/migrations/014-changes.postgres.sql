-- What happened to documents. A transaction with a smaller number may commit later, so the log is read up to the oldest that
-- is running: behind that, nothing appears in front of what has been read.
create table store_changes (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint not null generated always as identity,
  collection text collate "C" not null,
  id text collate "C" not null,
  version bigint not null,        -- the new one; 0: deleted
  owner text collate "C" not null,
  at bigint not null,
  old json,                       -- the document before; null: created
  bytes integer not null,         -- of its text
  primary key (xid, seq)
);

-- Which log it is, and from where on it is complete.
create table store_feed (
  one integer primary key check (one = 1),
  generation text collate "C" not null, -- another one after a restore
  system text collate "C" not null, -- tells a database from a copy of it, where numbers of transactions begin again
  floor_xid bigint not null,      -- changes up to here are deleted
  floor_seq bigint not null
);
insert into store_feed values (1, gen_random_uuid()::text, '', 0, 0);

-- How far those have come who go on where they were after a restart.
create table store_change_readers (
  name text collate "C" primary key,
  generation text collate "C" not null,
  xid bigint not null,
  seq bigint not null
);

-- Collections whose changes are not logged; '*' means all of them, during a restore.
create table store_unlogged (collection text collate "C" primary key);

create function store_log_documents() returns trigger language plpgsql as $$
begin
  insert into store_changes (collection, id, version, owner, at, old, bytes)
  select changed.collection, changed.id,
    case tg_op when 'INSERT' then changed.version when 'UPDATE' then changed.version + 1 else 0 end,
    changed.owner, (extract(epoch from clock_timestamp()) * 1000)::bigint,
    case tg_op when 'INSERT' then null else changed.body end,
    case tg_op when 'INSERT' then 0 else changed.bytes end
  from changed
  where not exists (select from store_unlogged u where u.collection in (changed.collection, '*'));
  return null;
end
$$;

create trigger store_documents_created after insert on store_documents
referencing new table as changed for each statement execute function store_log_documents();

create trigger store_documents_updated after update on store_documents
referencing old table as changed for each statement execute function store_log_documents();

create trigger store_documents_deleted after delete on store_documents
referencing old table as changed for each statement execute function store_log_documents();
