-- An index of words has no rows in store_entries: they are in store_search.
alter table store_indexes add column is_search boolean not null default false;

-- A document whose words are indexed, also one that has none.
create table store_search (
  place integer primary key,      -- the rowid of its words
  index_id integer not null,
  id text not null,               -- of the document
  unique (index_id, id)
);

-- The words themselves come from the server: with the index before them, separated by spaces. Only where they are is kept.
create virtual table store_search_words using fts5(
  place0, place1, place2, place3, content = '', contentless_delete = 1, tokenize = 'ascii'
);

create trigger store_search_removed after delete on store_search begin
  delete from store_search_words where rowid = old.place;
end;
