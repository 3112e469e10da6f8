-- Who reads objects that a snapshot names: until its lease is over, none is deleted.
create table store_object_readers (
  id text primary key,
  lease_until bigint not null
);
