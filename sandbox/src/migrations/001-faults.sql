-- What goes wrong at a stand-in on purpose: so many times, or until it is taken back.
create table sandbox_faults (
  provider text primary key,
  fault text not null,                    -- JSON
  times bigint,
  calls bigint not null
);
