-- Changes of addresses, and the devices that accounts are used on. Times are milliseconds since 1970.

-- One row for each change that was asked for; it is made once the link that was sent to the new address is used.
create table auth_address_changes (
  id text primary key,                    -- of the work that sent the link: done again, it sends nothing more
  user_id text not null references auth_users (id) on delete cascade,
  credentials_version bigint not null,    -- of the account when it was asked for
  hash text not null unique,              -- of the token in the link
  email text not null,                    -- the new address
  email_key text not null,
  expires_at bigint not null,
  changed_at bigint,                      -- null: the link was not used
  old_email text,
  old_email_key text,
  old_verified_at bigint,
  undo_hash text unique,                  -- of the token that was sent to the old address; null: not yet
  undo_until bigint,                      -- the old address is reserved until then; null: it was not verified, so nothing can be undone
  undone_at bigint                        -- undone, or with an earlier change
);
create index auth_address_changes_user on auth_address_changes (user_id, changed_at);
create index auth_address_changes_old on auth_address_changes (old_email_key, undo_until);
create index auth_address_changes_expiry on auth_address_changes (expires_at);

create table auth_known_devices (
  user_id text not null references auth_users (id) on delete cascade,
  device_hash text not null,              -- of the user agent without its versions
  last_used_at bigint not null,           -- to the day
  primary key (user_id, device_hash)
);
create index auth_known_devices_age on auth_known_devices (last_used_at);
