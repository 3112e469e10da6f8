-- The accounts in the sandbox's authenticator app. Their secrets are as readable as the codes that it shows.
create table sandbox_authenticator (
  id text primary key,
  uri text not null unique,               -- otpauth://totp/..., as it is written anew
  created_at bigint not null
);
