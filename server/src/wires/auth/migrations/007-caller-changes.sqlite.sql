-- Callers that may no longer be what they were: which session has ended, and which user or service key is another one now.
-- Every process with open streams reads the newest. Times are of the database's clock, in milliseconds since 1970.
create table auth_caller_changes (
  id text not null,                       -- of a session, a user or a service key
  at bigint not null
);
create index auth_caller_changes_at on auth_caller_changes (at);

-- The tokens of a session that has expired have expired too.
create trigger auth_sessions_ended after delete on auth_sessions
  when old.expires_at > unixepoch('subsec') * 1000 begin
  insert into auth_caller_changes values (old.id, cast(unixepoch('subsec') * 1000 as integer));
end;

create trigger auth_users_changed after update of email, email_key, email_verified_at, role, disabled_at on auth_users begin
  insert into auth_caller_changes values (old.id, cast(unixepoch('subsec') * 1000 as integer));
end;

create trigger auth_service_keys_changed after update of scopes, revoked_at on auth_service_keys begin
  insert into auth_caller_changes values (old.id, cast(unixepoch('subsec') * 1000 as integer));
end;

create trigger auth_service_keys_removed after delete on auth_service_keys begin
  insert into auth_caller_changes values (old.id, cast(unixepoch('subsec') * 1000 as integer));
end;
