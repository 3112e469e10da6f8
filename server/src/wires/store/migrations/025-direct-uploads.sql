-- An upload whose bytes its client sends to the bucket itself, until they are there: the object, the bucket's name of the upload, and
-- how long each part is.
alter table store_uploads add column object text;
alter table store_uploads add column bucket_upload text;
alter table store_uploads add column part_size bigint;
