-- Addresses by which one file is uploaded without an account. The file belongs to the owner of the link.
create table store_upload_links (
  id text primary key,
  owner text not null,
  owner_kind text not null check (owner_kind in ('user', 'key')),
  types text,                     -- a JSON array of media types; null: any
  max_bytes bigint not null,
  access text not null check (access in ('private', 'public')),
  metadata text not null,         -- JSON
  created_at bigint not null,
  expires_at bigint not null,
  file_id text                    -- the file that was uploaded by it
);

create index store_upload_links_expiry on store_upload_links (expires_at);

-- Those that wait for the scan.
create index store_files_pending on store_files (id) where status = 'pending';
