-- Files that arrive by several requests.
create table store_uploads (
  id text primary key,
  owner text not null,
  owner_kind text not null check (owner_kind in ('user', 'key')),
  size bigint not null,
  metadata text not null,         -- as it was sent: Upload-Metadata of tus
  received bigint not null,       -- how many bytes are stored in pieces
  writer text,                    -- the request that may append: a later one takes its place
  joined_until bigint not null,   -- until then another request makes the file of the pieces
  file_id text,                   -- the file that it has become
  expires_at bigint not null
);

create index store_uploads_owner on store_uploads (owner);
create index store_uploads_expiry on store_uploads (expires_at);

-- Its bytes, each piece an object of the uploads storage.
create table store_upload_pieces (
  upload_id text not null,
  start bigint not null,
  size bigint not null,
  object text not null,
  primary key (upload_id, start)
);
