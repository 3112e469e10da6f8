-- The latest blocks of the chains, for the page; the chains themselves are in files of their nodes.
create table sandbox_chains (
  name text primary key,
  head text not null                      -- number and hash
);
