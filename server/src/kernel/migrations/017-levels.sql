-- What there was of something in each hour, at most: bytes of files, jobs that wait, blocks that a chain is ahead.
create table sixwire_levels (
  series text not null,          -- wire and name
  part text not null,
  hour bigint not null,          -- hours since 1970
  value bigint not null,
  primary key (series, hour, part)
);
