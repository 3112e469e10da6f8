-- An index of words has no rows in store_entries: they are in store_search.
alter table store_indexes add column is_search boolean not null default false;

-- The words of a document, which come from the server, with the index before them. A row without words is there, too.
create table store_search (
  index_id bigint not null,
  id text collate "C" not null,     -- of the document
  words tsvector not null,
  primary key (index_id, id)
);

-- Every search reads the whole list of what is pending, so it is short.
create index store_search_words on store_search using gin (words) with (gin_pending_list_limit = 256);
