-- Objects (bytes in the uploads or backups storage) that no record names: being written, or to be deleted.
-- A row is here before the first byte is, so a sweep finds whatever a crash left behind.
create table store_unclaimed (
  storage text collate "C" not null check (storage in ('uploads', 'backups')),
  key text collate "C" not null,
  state text collate "C" not null check (state in ('writing', 'deleting')),
  due bigint not null,            -- from this time on the sweep deletes the object
  primary key (storage, key)
);

create index store_unclaimed_due on store_unclaimed (due);

create table store_files (
  id text collate "C" primary key,
  owner text collate "C" not null,
  object text collate "C" not null unique, -- the key of its bytes in the uploads storage
  original_name text collate "C" not null,
  content_type text collate "C" not null,
  size bigint not null,
  sha256 text collate "C" not null,
  metadata json not null,         -- as it is answered
  created_at bigint not null
);

create index store_files_owner on store_files (owner, id);

-- Resized images, made when they are first asked for.
create table store_variants (
  file_id text collate "C" not null,
  variant text collate "C" not null, -- what was asked for, in one form: 'w200-h100-cover-webp'
  object text collate "C" not null,
  content_type text collate "C" not null,
  size bigint not null,
  sha256 text collate "C" not null,
  primary key (file_id, variant)
);

-- How many files there are, and their bytes: in all (owner '') and of each owner, for lists and quotas.
-- Each connection counts in one of sixteen slots: writers at the same time do not wait for one row.
create table store_usage (
  owner text collate "C" not null,
  slot integer not null,
  files bigint not null,
  bytes bigint not null,
  primary key (owner, slot)
) with (fillfactor = 50);

create function store_count_files() returns trigger language plpgsql as $$
begin
  -- In one order everywhere, so that two writers never wait for each other in a circle.
  insert into store_usage as used (owner, slot, files, bytes)
  select per.owner, pg_backend_pid() % 16,
    case tg_op when 'INSERT' then count(*) else -count(*) end,
    case tg_op when 'INSERT' then sum(changed.size) else -sum(changed.size) end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  group by per.owner
  order by per.owner collate "C"
  on conflict (owner, slot) do update
    set files = used.files + excluded.files, bytes = used.bytes + excluded.bytes;
  return null;
end
$$;

create trigger store_files_added after insert on store_files
referencing new table as changed for each statement execute function store_count_files();

create trigger store_files_removed after delete on store_files
referencing old table as changed for each statement execute function store_count_files();
