-- How many bytes documents take, counted where they are counted, for the quota.
alter table store_counts add column bytes integer not null default 0;

update store_counts set bytes = stored.bytes
from (
  select collection, owner, sum(bytes) as bytes from store_documents group by collection, owner
  union all
  select collection, '', sum(bytes) from store_documents group by collection) as stored
where store_counts.collection = stored.collection and store_counts.owner = stored.owner
  and store_counts.slot = (
    select min(slot) from store_counts as others
    where others.collection = stored.collection and others.owner = stored.owner);

create index store_counts_owner on store_counts (owner);

drop trigger store_documents_added;
create trigger store_documents_added after insert on store_documents begin
  insert into store_counts (collection, owner, slot, documents, bytes)
  values (new.collection, '', 0, 1, new.bytes), (new.collection, new.owner, 0, 1, new.bytes)
  on conflict (collection, owner, slot) do update set documents = documents + 1, bytes = bytes + excluded.bytes;
end;

drop trigger store_documents_removed;
create trigger store_documents_removed after delete on store_documents begin
  update store_counts set documents = documents - 1, bytes = bytes - old.bytes
  where collection = old.collection and owner in ('', old.owner) and slot = 0;
end;

create trigger store_documents_resized after update on store_documents when old.bytes <> new.bytes begin
  update store_counts set bytes = bytes + new.bytes - old.bytes
  where collection = old.collection and owner in ('', old.owner) and slot = 0;
end;
