-- The log of webhooks that stand-ins send to the application, one row per delivery. Times are milliseconds since 1970.
create table sandbox_webhooks (
  id text primary key,                    -- sorts by time of creation
  provider text not null,                 -- the stand-in
  event_id text not null,                 -- the provider's; a doubled webhook has two rows
  type text not null,
  object_id text not null,
  body text not null,
  status text not null check (status in ('waiting', 'held', 'delivered', 'failed', 'dropped', 'lost')),
  job text not null,                      -- the job that sends it; any other job does nothing
  url text not null,                      -- where it was or will be sent
  headers text,                           -- JSON: of the last attempt
  attempts bigint not null,
  attempts_max bigint not null,           -- it fails after so many; grows when it is sent again
  last_status bigint,                     -- HTTP status of the last answer
  last_error text,
  created_at bigint not null,
  due_at bigint not null,
  delivered_at bigint,
  changed_at bigint not null
);
create index sandbox_webhooks_provider on sandbox_webhooks (provider, id);
