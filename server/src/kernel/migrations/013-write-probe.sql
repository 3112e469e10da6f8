-- One row that GET /health writes again, so that it knows whether the database takes writes.
create table sixwire_write_probe (
  id integer primary key,
  filler text not null           -- of a size that takes room
);
