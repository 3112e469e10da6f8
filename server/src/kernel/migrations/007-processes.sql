-- The processes that may hold claims. One that has ended without deleting its row has its claims released: see processes.ts.
create table sixwire_processes (
  id text primary key,
  beat bigint not null            -- on PostgreSQL it counts up every two seconds while the process lives
);

alter table sixwire_jobs add column process text;         -- which process does it; null: none
alter table sixwire_idempotency add column process text;  -- which process answers the call
