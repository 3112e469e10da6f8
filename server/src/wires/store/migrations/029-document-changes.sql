-- Changes of the documents of a collection under way, for a new version of its definition.
create table store_document_changes (
  collection text primary key,
  version bigint not null,             -- of the definition that comes into force with them
  base bigint not null,                -- the version in force when they began; 0: none
  state text not null check (state in ('waiting', 'changing', 'changed', 'failed', 'undoing', 'settling')),
  position text not null default '',   -- the id up to which documents are changed
  documents bigint not null default 0, -- how many there were when it began
  done bigint not null default 0,
  reason text                          -- why it failed
);

-- What was in the fields of documents that such a change has changed, until it is done or undone.
create table store_changed_documents (
  collection text not null,
  id text not null,
  owner text not null,
  kept text not null,                  -- JSON: by the number of the change, from 0 on
  primary key (collection, id)
);

create index store_changed_documents_owner on store_changed_documents (owner);

alter table store_collection_versions add column documents text; -- JSON: changes of documents with this version; null: none
