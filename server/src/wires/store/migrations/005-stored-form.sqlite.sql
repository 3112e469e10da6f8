-- Documents are stored as JSONB, which filters look into without parsing it, and answered as the text that it is written
-- from: the same bytes as were stored. A column cannot be generated in place of another, so the tables are made anew. A
-- restore under way in another process then finds nothing that it has loaded, and changes nothing.
create table store_stored_documents (
  collection text not null,
  id text not null,
  owner text not null,
  version integer not null,
  -- Of the text, in front of the document: read without it.
  bytes integer not null generated always as (octet_length(json(doc))) stored,
  doc blob not null,              -- the whole document, _id and timestamps included
  body text not null generated always as (json(doc)) virtual, -- as it is answered
  primary key (collection, id)
) without rowid;

insert into store_stored_documents (collection, id, owner, version, doc)
select collection, id, owner, version, jsonb(body) from store_documents
where sixwire_progress((select coalesce(sum(documents), 0) from store_counts where owner = ''))
order by collection, id;

-- With its index and triggers.
drop table store_documents;
alter table store_stored_documents rename to store_documents;

create index store_documents_owner on store_documents (owner, collection, id);

create trigger store_documents_added after insert on store_documents begin
  insert into store_counts values (new.collection, '', 0, 1), (new.collection, new.owner, 0, 1)
  on conflict (collection, owner, slot) do update set documents = documents + 1;
end;

create trigger store_documents_removed after delete on store_documents begin
  update store_counts set documents = documents - 1
  where collection = old.collection and owner in ('', old.owner) and slot = 0;
end;

drop table store_restored_documents;
create table store_restored_documents (
  restore_id text not null,
  collection text not null,
  id text not null,
  owner text not null,
  version integer not null,
  doc blob not null,
  primary key (restore_id, collection, id)
) without rowid;
