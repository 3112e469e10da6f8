-- Who may read a file, whether it is served, and what else is known of it. A new table: only that can have a default that is another
-- one for each row.
create table store_files_next (
  id text primary key,
  owner text not null,
  object text not null unique,    -- the key of its bytes in the uploads storage
  original_name text not null,
  content_type text not null,
  size integer not null,
  sha256 text not null,
  metadata text not null,         -- JSON, as it is answered
  created_at integer not null,
  access text not null default 'private' check (access in ('private', 'public')),
  public_key text not null unique default (lower(hex(randomblob(16)))), -- what its public address ends with
  status text not null default 'ready' check (status in ('ready', 'pending', 'refused')), -- pending and refused are not served
  refusal text,                   -- why it is refused
  image text,                     -- JSON, as it is answered: width, height, preview
  attached_by text,               -- the field of documents that took it last: 'posts.photo'
  released_at integer             -- when it was first found that no document has it any more
) without rowid;

insert into store_files_next (id, owner, object, original_name, content_type, size, sha256, metadata, created_at)
select id, owner, object, original_name, content_type, size, sha256, metadata, created_at from store_files;
drop table store_files;
alter table store_files_next rename to store_files;

create index store_files_owner on store_files (owner, id);
create index store_files_attached on store_files (id) where attached_by is not null;

create trigger store_files_added after insert on store_files begin
  insert into store_usage values ('', 0, 1, new.size), (new.owner, 0, 1, new.size)
  on conflict (owner, slot) do update set files = files + 1, bytes = bytes + excluded.bytes;
end;

create trigger store_files_removed after delete on store_files begin
  update store_usage set files = files - 1, bytes = bytes - old.size
  where owner in ('', old.owner) and slot = 0;
end;

alter table store_restored_files add column access text not null default 'private';
alter table store_restored_files add column public_key text not null default '';
alter table store_restored_files add column status text not null default 'ready';
alter table store_restored_files add column refusal text;
alter table store_restored_files add column image text;
alter table store_restored_files add column attached_by text;
