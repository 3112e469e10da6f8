-- The request log: requests, and warnings and errors of the server's log. Ids sort by time and hold it. Written by each process
-- in batches, off the path of a request; see docs/decisions/086-request-log.md.
create table sixwire_log (
  id text primary key,
  kind text not null check (kind in ('request', 'problem')),
  process text not null,
  request_id text,
  method text,
  route text,                    -- null: no route has the path
  path text,                     -- without its query
  status integer,
  us bigint,                     -- microseconds that the request took
  caller_kind text,
  caller text,
  ip text,
  code text,                     -- of the error that was answered
  level text,                    -- of a problem: warn, error or fatal
  message text,
  fields text,                   -- of a problem: JSON of what was logged with it
  fault text                     -- of a problem: the fingerprint of its fault
);
create index sixwire_log_request on sixwire_log (request_id) where request_id is not null;
create index sixwire_log_caller on sixwire_log (caller, id) where caller is not null;

-- What each process has answered in each hour, its latest totals.
create table sixwire_log_hours (
  hour bigint not null,          -- hours since 1970
  process text not null,
  requests bigint not null,
  refusals bigint not null,      -- of the requests: with a status of 4xx
  failures bigint not null,      -- of the requests: with a status of 5xx
  us bigint not null,            -- microseconds of all requests
  omitted bigint not null,       -- requests and problems that are not in the log
  primary key (hour, process)
);

-- Unexpected errors, by the name of the error and the place that threw it.
create table sixwire_faults (
  fingerprint text primary key,
  name text not null,
  message text not null,
  place text,
  stack text,
  count bigint not null,
  first_at bigint not null,
  last_at bigint not null,
  last_request_id text,
  last_process text not null,
  resolved_at bigint,            -- null: open
  resolved_by text
);
create index sixwire_faults_last on sixwire_faults (last_at, fingerprint);
