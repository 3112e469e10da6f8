-- What administrators find accounts by. Times are milliseconds since 1970.

alter table auth_users add column name_key text;                  -- the name as it is searched
alter table auth_users add column last_sign_in_at bigint;
update auth_users set name_key = lower(name),
  last_sign_in_at = (select max(created_at) from auth_sessions where user_id = auth_users.id);

drop index auth_users_unverified;
create index auth_users_unverified on auth_users (id) where email_verified_at is null and disabled_at is null;
create index auth_users_disabled on auth_users (id) where disabled_at is not null;
create index auth_users_roles on auth_users (id) where role = 'admin' or is_viewer = 1;

alter table auth_login_attempts add column user_id text;          -- whose address it is; null: no account's
create index auth_login_attempts_user on auth_login_attempts (user_id) where user_id is not null;

-- The trigrams of address and name. Only where they are is kept.
create table auth_user_places (
  place integer primary key,              -- the rowid of the trigrams
  user_id text not null unique
);
create virtual table auth_user_search using fts5(
  text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);
insert into auth_user_places (user_id) select id from auth_users order by id;
insert into auth_user_search (rowid, text)
  select p.place, u.email_key || ' ' || coalesce(u.name_key, '') from auth_user_places p join auth_users u on u.id = p.user_id;

create trigger auth_users_search_added after insert on auth_users begin
  insert into auth_user_places (user_id) values (new.id);
  insert into auth_user_search (rowid, text)
    select place, new.email_key || ' ' || coalesce(new.name_key, '') from auth_user_places where user_id = new.id;
end;
create trigger auth_users_search_changed after update of email_key, name_key on auth_users
  when old.email_key <> new.email_key or old.name_key is not new.name_key begin
  delete from auth_user_search where rowid = (select place from auth_user_places where user_id = old.id);
  insert into auth_user_search (rowid, text)
    select place, new.email_key || ' ' || coalesce(new.name_key, '') from auth_user_places where user_id = old.id;
end;
create trigger auth_users_search_removed after delete on auth_users begin
  delete from auth_user_search where rowid = (select place from auth_user_places where user_id = old.id);
  delete from auth_user_places where user_id = old.id;
end;

-- Links that make the first administrator of a server in production, one for each start.
create table auth_first_admin_links (
  hash text primary key,
  expires_at bigint not null
);
