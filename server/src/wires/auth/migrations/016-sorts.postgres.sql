-- What accounts are sorted by.
create index auth_users_email on auth_users ((email_key) collate "C", id);
create index auth_users_name on auth_users ((coalesce(name_key, '')) collate "C", id);
create index auth_users_sign_in on auth_users ((coalesce(last_sign_in_at, 0)), id);
