-- The role of viewers, and what a session is for. Times are milliseconds since 1970.

alter table auth_users add column is_viewer bigint not null default 0;  -- 1: with the role 'user', the account is a viewer

alter table auth_sessions add column kind text;                   -- 'console', 'impersonation'; null: of the application
alter table auth_sessions add column idle_ms bigint;              -- how long it lives without a refresh; null: as configured
alter table auth_sessions add column ends_at bigint;              -- the latest end, whatever is refreshed; null: as configured
alter table auth_sessions add column impersonator_id text references auth_users (id) on delete cascade;
alter table auth_sessions add column is_read_only bigint not null default 0;
create index auth_sessions_impersonator on auth_sessions (impersonator_id) where impersonator_id is not null;

drop trigger auth_users_changed;
create trigger auth_users_changed
  after update of email, email_key, email_verified_at, role, is_viewer, disabled_at on auth_users begin
  insert into auth_caller_changes values (old.id, cast(unixepoch('subsec') * 1000 as integer));
end;
