create table store_backups (
  id text collate "C" primary key,
  kind text collate "C" not null check (kind in ('manual', 'scheduled', 'safety')),
  status text collate "C" not null check (status in ('running', 'completed', 'failed')),
  object text collate "C" not null,           -- the key of the archive in the backups storage
  size bigint,                      -- of the archive, in bytes
  collections bigint,
  documents bigint,
  files bigint,
  sha256 text collate "C",                    -- of the archive
  reason text collate "C",                    -- why it failed
  lease_until bigint not null,      -- a running one whose process has died ends then
  created_at bigint not null,
  completed_at bigint
);

-- One at a time, on all replicas.
create unique index store_backups_running on store_backups (status) where status = 'running';

create index store_backups_completed on store_backups (completed_at) where status = 'completed';

create table store_restores (
  id text collate "C" primary key,
  status text collate "C" not null check (status in ('running', 'completed', 'failed')),
  source text collate "C" not null,           -- the id of the backup, or the name of the archive
  safety_backup text collate "C",
  reason text collate "C",
  lease_until bigint not null,
  created_at bigint not null,
  completed_at bigint
);

create unique index store_restores_running on store_restores (status) where status = 'running';

-- What a restore will put in place of the documents and files, loaded beforehand.
create unlogged table store_restored_documents (
  restore_id text collate "C" not null,
  collection text collate "C" not null,
  id text collate "C" not null,
  owner text collate "C" not null,
  version bigint not null,
  body json not null,
  primary key (restore_id, collection, id)
);

create unlogged table store_restored_files (
  restore_id text collate "C" not null,
  id text collate "C" not null,
  owner text collate "C" not null,
  object text collate "C",         -- null until its bytes are written
  original_name text collate "C" not null,
  content_type text collate "C" not null,
  size bigint not null,
  sha256 text collate "C" not null,
  metadata json not null,
  created_at bigint not null,
  primary key (restore_id, id)
);

-- Refuses the writes of documents and files while they are replaced; enabled only then, see gate.ts.
create function store_refuse_writes() returns trigger language plpgsql as $$
begin
  raise exception 'the store is being restored' using errcode = 'SX001';
end
$$;

create trigger store_documents_gate before insert or update or delete on store_documents
for each statement execute function store_refuse_writes();
alter table store_documents disable trigger store_documents_gate;

create trigger store_files_gate before insert or update or delete on store_files
for each statement execute function store_refuse_writes();
alter table store_files disable trigger store_files_gate;
