-- What the frame itself keeps: answers given under an Idempotency-Key, buckets of calls, work to be done.

create table sixwire_idempotency (
  caller text not null,
  key text not null,
  fingerprint text not null,      -- keyed hash of the request: it may hold a password
  record_id text not null,        -- the id of what the call makes, the same at every try
  answer text,                    -- sealed: it may hold a token; null while the call is under way
  lease_until bigint not null,    -- after this a call that never ended may be tried again
  expires_at bigint not null,
  primary key (caller, key)
);
create index sixwire_idempotency_expiry on sixwire_idempotency (expires_at);

create table sixwire_rate_limits (
  bucket text primary key,
  full_at bigint not null         -- when the bucket will be full again, in microseconds
);
create index sixwire_rate_limits_expiry on sixwire_rate_limits (full_at);

create table sixwire_jobs (
  id text primary key,
  kind text not null,
  payload text not null,
  state text not null,            -- ready | failed; a job that is done is deleted
  run_at bigint not null,         -- not before this; while it runs, the end of its lease
  attempts bigint not null,
  claimed_by text,
  last_error text,
  created_at bigint not null
);
create index sixwire_jobs_due on sixwire_jobs (state, run_at);
