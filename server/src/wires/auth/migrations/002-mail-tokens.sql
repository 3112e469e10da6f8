-- What the links in mails prove. Times are milliseconds since 1970.

create table auth_mail_tokens (
  id text primary key,                    -- of the work that sent it: done again, it sends nothing more
  hash text not null unique,              -- the token itself stands in the mail only
  purpose text not null check (purpose in ('reset', 'magic-link', 'verification')),
  email text not null,                    -- where it was sent
  email_key text not null,
  user_id text references auth_users (id) on delete cascade, -- null: there was no account yet
  credentials_version bigint,             -- of the account when it was sent
  issued_at bigint not null,
  expires_at bigint not null,
  used_at bigint                          -- used, or replaced by a newer one
);
create index auth_mail_tokens_address on auth_mail_tokens (email_key, purpose);
create index auth_mail_tokens_user on auth_mail_tokens (user_id);
create index auth_mail_tokens_expiry on auth_mail_tokens (expires_at);

-- When the last five mails that anybody may ask for went to an address, oldest first; 0: there were not so many.
create table auth_mail_counts (
  address_key text primary key,           -- keyed hash of the address: there may be no account
  at_1 bigint not null,
  at_2 bigint not null,
  at_3 bigint not null,
  at_4 bigint not null,
  at_5 bigint not null
);
create index auth_mail_counts_age on auth_mail_counts (at_5);
