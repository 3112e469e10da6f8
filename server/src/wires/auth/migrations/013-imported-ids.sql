-- Accounts are listed by their time: ids that an import brings do not sort by it.
drop index auth_users_unverified;
create index auth_users_unverified on auth_users (created_at, id) where email_verified_at is null and disabled_at is null;
drop index auth_users_disabled;
create index auth_users_disabled on auth_users (created_at, id) where disabled_at is not null;
drop index auth_users_roles;
create index auth_users_roles on auth_users (created_at, id) where role = 'admin' or is_viewer = 1;
