-- Who people are at identity providers.

create table auth_identities (
  id text primary key,
  issuer text not null,                   -- who says it
  subject text not null,                  -- of whom; never the address
  user_id text not null references auth_users (id) on delete cascade,
  credentials_version bigint,             -- null: joined with a verified address; else that of the account then
  created_at bigint not null,
  unique (issuer, subject)
);
create index auth_identities_user on auth_identities (user_id);

-- Sign-ins that came back from a provider: each may come back once. Those under way are kept by their browsers.
create table auth_provider_returns (
  state_hash text primary key,
  expires_at bigint not null
);
create index auth_provider_returns_expiry on auth_provider_returns (expires_at);
