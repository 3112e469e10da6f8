-- That this database is being moved into another one, or was. Its tables refuse writes by triggers then: see db/closed-tables.ts.
create table sixwire_moves (
  id bigint primary key check (id = 1),
  owner text not null,            -- the command that moves it; a later one takes over
  target text not null,           -- the address of the other one, without a password
  started_at bigint not null,     -- milliseconds since 1970
  moved_at bigint                 -- null: the move is not finished
);
