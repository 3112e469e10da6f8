-- Objects (bytes in the uploads or backups storage) that no record names: being written, or to be deleted.
-- A row is here before the first byte is, so a sweep finds whatever a crash left behind.
create table store_unclaimed (
  storage text not null check (storage in ('uploads', 'backups')),
  key text not null,
  state text not null check (state in ('writing', 'deleting')),
  due integer not null,           -- from this time on the sweep deletes the object
  primary key (storage, key)
) without rowid;

create index store_unclaimed_due on store_unclaimed (due);

create table store_files (
  id text primary key,
  owner text not null,
  object text not null unique,    -- the key of its bytes in the uploads storage
  original_name text not null,
  content_type text not null,
  size integer not null,
  sha256 text not null,
  metadata text not null,         -- JSON, as it is answered
  created_at integer not null
) without rowid;

create index store_files_owner on store_files (owner, id);

-- Resized images, made when they are first asked for.
create table store_variants (
  file_id text not null,
  variant text not null,          -- what was asked for, in one form: 'w200-h100-cover-webp'
  object text not null,
  content_type text not null,
  size integer not null,
  sha256 text not null,
  primary key (file_id, variant)
) without rowid;

-- How many files there are, and their bytes: in all (owner '') and of each owner, for lists and quotas.
create table store_usage (
  owner text not null,
  slot integer not null,
  files integer not null,
  bytes integer not null,
  primary key (owner, slot)
) without rowid;

create trigger store_files_added after insert on store_files begin
  insert into store_usage values ('', 0, 1, new.size), (new.owner, 0, 1, new.size)
  on conflict (owner, slot) do update set files = files + 1, bytes = bytes + excluded.bytes;
end;

create trigger store_files_removed after delete on store_files begin
  update store_usage set files = files - 1, bytes = bytes - old.size
  where owner in ('', old.owner) and slot = 0;
end;
