-- What proves a user beside the first way to sign in. Times are milliseconds since 1970.

alter table auth_users add column second_factor_at bigint;        -- since when there is a passkey or TOTP; null: neither
alter table auth_users add column second_factor_due_at bigint;    -- from when the policy accepts no sign-in without one; null: not told yet

alter table auth_sessions add column second_factor text;          -- how it was met: 'passkey', 'totp', 'recovery-code', 'device'; null: not
alter table auth_sessions add column proven_at bigint;            -- the last proof of any kind: sign-in or POST /auth/confirm; null: at created_at
alter table auth_sessions add column factor_proven_at bigint;     -- the last proof of a second factor

-- Of sign-ins whose first part is proven, until the second factor is.
create table auth_challenges (
  id text primary key,
  hash text not null unique,
  user_id text not null references auth_users (id) on delete cascade,
  credentials_version bigint not null,    -- of the account when the first part was proven
  method text not null,                   -- the way in: 'password', 'magic-link', 'refresh' ...
  session_id text references auth_sessions (id) on delete cascade, -- of a refresh: the session that goes on
  attempts bigint not null,               -- one that is under way counts already
  expires_at bigint not null,
  used_at bigint
);
create index auth_challenges_user on auth_challenges (user_id);
create index auth_challenges_session on auth_challenges (session_id);
create index auth_challenges_expiry on auth_challenges (expires_at);

-- WebAuthn credentials (https://www.w3.org/TR/webauthn-3/).
create table auth_passkeys (
  id text primary key,
  credential_id text not null unique,     -- base64url
  user_id text not null references auth_users (id) on delete cascade,
  public_key text not null,               -- COSE, base64url
  counter bigint not null,                -- of signatures; always 0 with most passkeys that are synchronised
  transports text not null,               -- a JSON list: 'internal', 'hybrid', 'usb' ...
  name text not null,
  aaguid text not null,                   -- the kind of authenticator
  is_synced bigint not null,              -- 1: the authenticator keeps a backup of it
  is_user_verified bigint not null,       -- 1: it verified its user when it was created
  created_at bigint not null,
  last_used_at bigint
);
create index auth_passkeys_user on auth_passkeys (user_id, created_at);

-- Challenges of WebAuthn that were answered: each may be answered once. Those that are not cost nothing here.
create table auth_passkey_answers (
  challenge_hash text primary key,
  expires_at bigint not null
);
create index auth_passkey_answers_expiry on auth_passkey_answers (expires_at);

-- Authenticator apps (RFC 6238).
create table auth_totp (
  user_id text primary key references auth_users (id) on delete cascade,
  secret text not null,                   -- sealed
  last_step bigint not null,              -- of the last code that was accepted: no code of it or before is accepted again
  created_at bigint not null,
  last_used_at bigint
);
-- Secrets that were shown, until a code proves that an app has them.
create table auth_totp_offers (
  user_id text primary key references auth_users (id) on delete cascade,
  secret text not null,                   -- sealed
  attempts bigint not null,               -- one that is under way counts already
  expires_at bigint not null
);
create index auth_totp_offers_expiry on auth_totp_offers (expires_at);

create table auth_recovery_codes (
  user_id text not null references auth_users (id) on delete cascade,
  salt text not null,                     -- one for all codes of an account, after the cost
  hash text not null,                     -- scrypt
  used_at bigint,
  primary key (user_id, hash)
);

-- Devices that need no second factor for a while.
create table auth_trusted_devices (
  id text primary key,
  hash text not null unique,
  user_id text not null references auth_users (id) on delete cascade,
  credentials_version bigint not null,    -- of the account when the device was trusted
  ip text not null,
  user_agent text not null,
  created_at bigint not null,
  last_used_at bigint not null,
  expires_at bigint not null
);
create index auth_trusted_devices_user on auth_trusted_devices (user_id, created_at);
create index auth_trusted_devices_expiry on auth_trusted_devices (expires_at);
