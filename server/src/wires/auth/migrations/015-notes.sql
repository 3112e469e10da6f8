-- What the staff writes down about users, who do not see it. Times are milliseconds since 1970.
create table auth_notes (
  id text primary key,
  user_id text not null references auth_users (id) on delete cascade,
  author text,                            -- the account or service key that wrote it
  text text not null,
  created_at bigint not null
);
create index auth_notes_user on auth_notes (user_id, id);
