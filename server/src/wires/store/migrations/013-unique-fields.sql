-- A document that lacks one of the fields has no entry in the index.
alter table store_indexes add column is_sparse boolean not null default false;
-- Texts that differ in case only have the same key; see fold-case.ts.
alter table store_indexes add column ignore_case boolean not null default false;
