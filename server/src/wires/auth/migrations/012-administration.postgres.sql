-- What administrators find accounts by. Times are milliseconds since 1970.

alter table auth_users add column name_key text;                  -- the name as it is searched
alter table auth_users add column last_sign_in_at bigint;
update auth_users set name_key = lower(name),
  last_sign_in_at = (select max(created_at) from auth_sessions where user_id = auth_users.id);

drop index auth_users_unverified;
create index auth_users_unverified on auth_users (id) where email_verified_at is null and disabled_at is null;
create index auth_users_disabled on auth_users (id) where disabled_at is not null;
create index auth_users_roles on auth_users (id) where role = 'admin' or is_viewer = 1;

alter table auth_login_attempts add column user_id text;          -- whose address it is; null: no account's
create index auth_login_attempts_user on auth_login_attempts (user_id) where user_id is not null;

-- Not of the extension pg_trgm, which not every server has. The cost keeps plans from computing it for each row.
create function auth_trigrams(value text) returns text[] language sql immutable parallel safe cost 10000 as $$
  select coalesce(array_agg(distinct substr(value, n, 3)), '{}') from generate_series(1, length(value) - 2) n
$$;
create index auth_users_search on auth_users using gin (auth_trigrams(email_key || ' ' || coalesce(name_key, '')));

-- Links that make the first administrator of a server in production, one for each start.
create table auth_first_admin_links (
  hash text primary key,
  expires_at bigint not null
);
