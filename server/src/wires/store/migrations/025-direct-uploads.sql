-- An upload whose bytes its client sends to the bucket itself, until they are there: the object, the bucket's name of the upload, and
-- how long each part is.
alter table store_uploads add column object text;
alter table store_uploads add column bucket_upload text;
alter table store_uploads add column part_size bigint;

-- The Idempotency-Key of the call that created it.
alter table store_uploads add column creation_key text;
create unique index store_uploads_creation on store_uploads (owner, creation_key) where creation_key is not null;
