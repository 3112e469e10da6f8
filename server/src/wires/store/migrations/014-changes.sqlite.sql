-- What happened to documents, in the order of the commits: there is one writer.
create table store_changes (
  seq integer primary key autoincrement,
  collection text not null,
  id text not null,
  version integer not null,       -- the new one; 0: deleted
  owner text not null,
  at integer not null,
  old blob                        -- the document before, as it is stored; null: created
);

-- Which log it is, and from where on it is complete.
create table store_feed (
  one integer primary key check (one = 1),
  generation text not null,       -- another one after a restore
  system text not null,           -- tells a database from a copy of it, where positions would begin again
  floor_xid integer not null,     -- always 0
  floor_seq integer not null      -- changes up to here are deleted
);
insert into store_feed values (1, lower(hex(randomblob(12))), '', 0, 0);

-- How far those have come who go on where they were after a restart.
create table store_change_readers (
  name text primary key,
  generation text not null,
  xid integer not null,
  seq integer not null
) without rowid;

-- Collections whose changes are not logged; '*' means all of them, during a restore.
create table store_unlogged (collection text primary key) without rowid;

create trigger store_documents_created after insert on store_documents
when not exists (select 1 from store_unlogged u where u.collection in (new.collection, '*'))
begin
  insert into store_changes (collection, id, version, owner, at)
  values (new.collection, new.id, new.version, new.owner, cast(unixepoch('subsec') * 1000 as integer));
end;

create trigger store_documents_updated after update on store_documents
when (old.version is not new.version or old.owner is not new.owner or old.doc is not new.doc)
  and not exists (select 1 from store_unlogged u where u.collection in (new.collection, '*'))
begin
  insert into store_changes (collection, id, version, owner, at, old)
  values (old.collection, old.id, new.version, old.owner, cast(unixepoch('subsec') * 1000 as integer), old.doc);
end;

create trigger store_documents_deleted after delete on store_documents
when not exists (select 1 from store_unlogged u where u.collection in (old.collection, '*'))
begin
  insert into store_changes (collection, id, version, owner, at, old)
  values (old.collection, old.id, 0, old.owner, cast(unixepoch('subsec') * 1000 as integer), old.doc);
end;
