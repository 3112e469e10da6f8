-- How many records a list holds, in all (owner '') and of each owner, so that no list has to count them.
-- There is one writer, so every list counts in slot 0.
create table sixwire_counts (
  list text not null,
  owner text not null,
  slot integer not null,
  records integer not null,
  primary key (list, owner, slot)
) without rowid;
