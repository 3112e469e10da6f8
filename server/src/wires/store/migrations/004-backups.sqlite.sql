create table store_backups (
  id text primary key,
  kind text not null check (kind in ('manual', 'scheduled', 'safety')),
  status text not null check (status in ('running', 'completed', 'failed')),
  object text not null,           -- the key of the archive in the backups storage
  size integer,                      -- of the archive, in bytes
  collections integer,
  documents integer,
  files integer,
  sha256 text,                    -- of the archive
  reason text,                    -- why it failed
  lease_until integer not null,      -- a running one whose process has died ends then
  created_at integer not null,
  completed_at integer
) without rowid;

-- One at a time, on all replicas.
create unique index store_backups_running on store_backups (status) where status = 'running';

create index store_backups_completed on store_backups (completed_at) where status = 'completed';

create table store_restores (
  id text primary key,
  status text not null check (status in ('running', 'completed', 'failed')),
  source text not null,           -- the id of the backup, or the name of the archive
  safety_backup text,
  reason text,
  lease_until integer not null,
  created_at integer not null,
  completed_at integer
) without rowid;

create unique index store_restores_running on store_restores (status) where status = 'running';

-- What a restore will put in place of the documents and files, loaded beforehand.
create table store_restored_documents (
  restore_id text not null,
  collection text not null,
  id text not null,
  owner text not null,
  version integer not null,
  body text not null,
  primary key (restore_id, collection, id)
) without rowid;

create table store_restored_files (
  restore_id text not null,
  id text not null,
  owner text not null,
  object text,                    -- null until its bytes are written
  original_name text not null,
  content_type text not null,
  size integer not null,
  sha256 text not null,
  metadata text not null,
  created_at integer not null,
  primary key (restore_id, id)
) without rowid;
