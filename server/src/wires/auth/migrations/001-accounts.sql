-- Accounts, how they are proven, and what was opened for them. Times are milliseconds since 1970.

create table auth_users (
  id text primary key,
  email text not null,                    -- as typed; mail goes here and nowhere else
  email_key text not null unique,         -- as compared
  name text,
  metadata text not null,                 -- a JSON object
  password_hash text,                     -- null: this account has no password
  role text not null check (role in ('user', 'admin')),
  credentials_version bigint not null,    -- goes up when what was proven before must open nothing any more
  email_verified_at bigint,
  disabled_at bigint,
  created_at bigint not null,
  updated_at bigint not null
);
create index auth_users_age on auth_users (created_at, id);

-- At most one row: the first account of a server outside production, which becomes its administrator.
create table auth_first_account (
  id bigint primary key check (id = 1),
  user_id text not null
);

create table auth_sessions (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  created_at bigint not null,
  last_used_at bigint not null,           -- signed in or refreshed; not every call
  expires_at bigint not null,
  ip text not null,
  user_agent text not null
);
create index auth_sessions_user on auth_sessions (user_id, created_at);
create index auth_sessions_expiry on auth_sessions (expires_at);

create table auth_refresh_tokens (
  hash text primary key,
  session_id text not null references auth_sessions (id) on delete cascade,
  issued_at bigint not null,
  used_at bigint                          -- null in one row of each session: its current token
);
create index auth_refresh_tokens_session on auth_refresh_tokens (session_id);
create index auth_refresh_tokens_use on auth_refresh_tokens (used_at);

create table auth_login_attempts (
  address_key text primary key,           -- keyed hash of the address: there may be no account
  failures bigint not null,               -- one that is under way counts already
  last_at bigint not null                 -- a lock runs from here
);
create index auth_login_attempts_age on auth_login_attempts (last_at);

create table auth_signing_keys (
  number bigint primary key,              -- 1, 2, 3: two replicas can't both add the same
  kid text not null unique,
  public_jwk text not null,
  private_jwk text not null,              -- sealed
  signs_from bigint not null              -- published before that, and until its last token has expired
);

create table auth_service_keys (
  id text primary key,
  name text not null,
  hash text not null unique,
  scopes text not null,                   -- separated by spaces
  created_at bigint not null,
  last_used_at bigint,                    -- to the hour
  revoked_at bigint
);
