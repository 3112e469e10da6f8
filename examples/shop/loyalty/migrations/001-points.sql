create table loyalty_accounts (
  user_id text primary key,
  points bigint not null check (points >= 0)
);

-- Each grant under its id: granting again under the same id changes nothing.
create table loyalty_grants (
  id text primary key,
  user_id text not null,
  points bigint not null
);
