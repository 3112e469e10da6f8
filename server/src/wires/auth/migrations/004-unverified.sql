-- How many accounts have an address that is not verified is counted at each start, from this index alone.
create index auth_users_unverified on auth_users (email_verified_at, disabled_at) where email_verified_at is null;
