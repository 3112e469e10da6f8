-- Calls that stand-ins have promised to the application, and that are still to be made; one that has arrived, or was
-- given up, is deleted. Times are milliseconds since 1970.
create table sandbox_callbacks (
  id text primary key,                    -- in the order of making
  stand_in text not null,
  subject text not null,                  -- what it is about: of one subject they are made in their order
  url text not null,
  headers text not null,                  -- JSON, sealed: some hold a secret of the application's
  body text not null,
  due_at bigint not null,                 -- while it is being made, the end of its lease
  attempts bigint not null
);
create index sandbox_callbacks_due on sandbox_callbacks (due_at);
create index sandbox_callbacks_subject on sandbox_callbacks (stand_in, subject, id);

-- Reports of texts that waited here are lost: they were due within minutes, and nobody has a sandbox for keeps.
drop table sandbox_phone_callbacks;
