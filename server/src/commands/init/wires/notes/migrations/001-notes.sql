create table notes (
  id text primary key,
  owner text not null,
  text text not null,
  created_at bigint not null
);

create index notes_of_owner on notes (owner, created_at, id);
