-- Whom the identity providers know. The id is the subject that both of them assert, and it never changes.
create table sandbox_people (
  id text primary key,                    -- digits: GitHub's are numbers
  name text not null,
  email text not null,
  verified bigint not null check (verified in (0, 1)),
  created_at bigint not null
);

-- Authorization codes and access tokens, as hashes. A code is deleted by its use.
create table sandbox_codes (
  code_hash text primary key,
  provider text not null,
  person_id text not null references sandbox_people (id) on delete cascade,
  details text not null,                  -- JSON: what the request for it said
  created_at bigint not null,
  expires_at bigint not null
);
create index sandbox_codes_expiry on sandbox_codes (expires_at);
create index sandbox_codes_person on sandbox_codes (person_id);

create table sandbox_tokens (
  token_hash text primary key,
  provider text not null,
  person_id text not null references sandbox_people (id) on delete cascade,
  code_hash text not null,                -- the code that it was given for
  scope text not null,
  expires_at bigint not null
);
create index sandbox_tokens_code on sandbox_tokens (code_hash);
create index sandbox_tokens_expiry on sandbox_tokens (expires_at);
create index sandbox_tokens_person on sandbox_tokens (person_id);

-- Keys that stand-ins sign with, sealed.
create table sandbox_keys (
  name text primary key,
  sealed text not null
);
