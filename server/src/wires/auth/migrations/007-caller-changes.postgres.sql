-- Callers that may no longer be what they were: which session has ended, and which user or service key is another one now.
-- Every process with open streams reads the newest. Times are of the database's clock, in milliseconds since 1970.
create table auth_caller_changes (
  id text not null,                       -- of a session, a user or a service key
  at bigint not null
);
create index auth_caller_changes_at on auth_caller_changes (at);

create function auth_now() returns bigint language sql volatile as $$
  select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)
$$;

create function auth_sessions_end() returns trigger language plpgsql as $$
begin
  -- The tokens of a session that has expired have expired too.
  insert into auth_caller_changes select id, auth_now() from ended where expires_at > auth_now();
  return null;
end
$$;

create trigger auth_sessions_ended after delete on auth_sessions referencing old table as ended
  for each statement execute function auth_sessions_end();

create function auth_caller_change() returns trigger language plpgsql as $$
begin
  insert into auth_caller_changes values (old.id, auth_now());
  return null;
end
$$;

create trigger auth_users_changed
  after update of email, email_key, email_verified_at, role, disabled_at on auth_users
  for each row execute function auth_caller_change();

create trigger auth_service_keys_changed after update of scopes, revoked_at on auth_service_keys
  for each row execute function auth_caller_change();

create trigger auth_service_keys_removed after delete on auth_service_keys
  for each row execute function auth_caller_change();
