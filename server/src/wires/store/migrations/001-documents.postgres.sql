-- `json`, not `jsonb`: a document is answered as it was written, with its keys in their order.
create table store_documents (
  collection text collate "C" not null,
  id text collate "C" not null,
  owner text collate "C" not null,
  version bigint not null,
  body json not null,             -- the whole document as it is answered, _id and timestamps included
  primary key (collection, id)
);

create index store_documents_owner on store_documents (owner, collection, id);

-- How many documents a collection holds, in all (owner '') and of each owner, so that no list has to count.
-- Each connection counts in one of sixteen slots: writers at the same time do not wait for one row.
create table store_counts (
  collection text collate "C" not null,
  owner text collate "C" not null,
  slot integer not null,
  documents bigint not null,
  primary key (collection, owner, slot)
) with (fillfactor = 50);

create function store_count_documents() returns trigger language plpgsql as $$
declare
  change constant integer := case tg_op when 'INSERT' then 1 else -1 end;
  document record;
begin
  if tg_op = 'INSERT' then document := new; else document := old; end if;
  -- In one order everywhere ('' sorts first), so that two writers never wait for each other in a circle.
  insert into store_counts values (document.collection, '', pg_backend_pid() % 16, change)
  on conflict (collection, owner, slot) do update set documents = store_counts.documents + change;
  insert into store_counts values (document.collection, document.owner, pg_backend_pid() % 16, change)
  on conflict (collection, owner, slot) do update set documents = store_counts.documents + change;
  return null;
end
$$;

create trigger store_documents_counted after insert or delete on store_documents
for each row execute function store_count_documents();
