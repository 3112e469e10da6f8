-- Who may read a file, whether it is served, and what else is known of it.
alter table store_files
  add column access text collate "C" not null default 'private' check (access in ('private', 'public')),
  -- What its public address ends with: another one for each row.
  add column public_key text collate "C" not null unique default replace(gen_random_uuid()::text, '-', ''),
  -- Pending and refused files are not served.
  add column status text collate "C" not null default 'ready' check (status in ('ready', 'pending', 'refused')),
  add column refusal text collate "C",     -- why it is refused
  add column image text collate "C",       -- JSON, as it is answered: width, height, preview
  add column attached_by text collate "C", -- the field of documents that took it last: 'posts.photo'
  add column released_at bigint;           -- when it was first found that no document has it any more

create index store_files_attached on store_files (id) where attached_by is not null;

alter table store_restored_files
  add column access text collate "C" not null default 'private',
  add column public_key text collate "C" not null default '',
  add column status text collate "C" not null default 'ready',
  add column refusal text collate "C",
  add column image text collate "C",
  add column attached_by text collate "C";
