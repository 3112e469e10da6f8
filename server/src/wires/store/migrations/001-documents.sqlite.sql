-- Rows lie in the order of their key, and ids in the order of time: a new document goes to the end of its
-- collection, and the newest page is read from there without a further index.
create table store_documents (
  collection text not null,
  id text not null,
  owner text not null,
  version integer not null,
  body text not null,             -- the whole document as it is answered, _id and timestamps included
  primary key (collection, id)
) without rowid;

create index store_documents_owner on store_documents (owner, collection, id);

-- How many documents a collection holds, in all (owner '') and of each owner, so that no list has to count.
create table store_counts (
  collection text not null,
  owner text not null,
  slot integer not null,
  documents integer not null,
  primary key (collection, owner, slot)
) without rowid;

create trigger store_documents_added after insert on store_documents begin
  insert into store_counts values (new.collection, '', 0, 1), (new.collection, new.owner, 0, 1)
  on conflict (collection, owner, slot) do update set documents = documents + 1;
end;

create trigger store_documents_removed after delete on store_documents begin
  update store_counts set documents = documents - 1
  where collection = old.collection and owner in ('', old.owner) and slot = 0;
end;
