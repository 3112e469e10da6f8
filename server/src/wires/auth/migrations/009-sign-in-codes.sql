-- Codes of six digits to sign in with. Times are milliseconds since 1970.

-- The code in the mail of a link, in the row of the link: using one voids the other.
alter table auth_mail_tokens add column code_hash text;           -- keyed, with the id of the row; null: the mail has no code
alter table auth_mail_tokens add column code_expires_at bigint;
alter table auth_mail_tokens add column code_attempts bigint not null default 0; -- one that is under way counts already
alter table auth_mail_tokens add column browser_hash text;        -- of the browser that asked; null: it is not known

-- The phone number that an account signs in with, once a code has proven it: one account a number.
create table auth_phones (
  phone text primary key,                 -- E.164
  user_id text not null unique references auth_users (id) on delete cascade,
  verified_at bigint not null
);

-- The codes in text messages.
create table auth_text_codes (
  id text primary key,                    -- of the work that sent it: done again, it sends nothing more
  purpose text not null check (purpose in ('phone', 'sign-in')), -- to prove a number, or to sign in with one
  phone text not null,                    -- where it was sent
  user_id text references auth_users (id) on delete cascade, -- null: no account has the number, and nothing was sent
  credentials_version bigint,             -- of the account when it was sent
  code_hash text not null,                -- keyed, with the id of the row
  code_expires_at bigint not null,
  code_attempts bigint not null default 0,
  browser_hash text,
  used_at bigint                          -- used, or replaced by a newer one
);
create index auth_text_codes_phone on auth_text_codes (phone, purpose);
create index auth_text_codes_user on auth_text_codes (user_id);
create index auth_text_codes_expiry on auth_text_codes (code_expires_at);
