-- Definitions of collections that are made while the server runs. Each change is a version; all are kept.
create table store_collection_versions (
  collection text not null,
  version bigint not null,        -- from 1 on
  state text not null check (state in ('pending', 'active', 'past', 'refused')),
  definition text,                -- JSON, as in store.collections of the configuration; null: it is defined no more
  report text,                    -- JSON: the documents that were looked at, and why it was refused
  created_by text not null,
  actor text,                     -- JSON: who made it, and from where, for the audit log; null once it is decided
  created_at bigint not null,
  finished_at bigint,
  primary key (collection, version)
);

create unique index store_collection_versions_active on store_collection_versions (collection) where state = 'active';
create unique index store_collection_versions_pending on store_collection_versions (collection) where state = 'pending';
