-- In which hours of UTC each user was active: signed in, or had a token refreshed. Not those of the console.
-- Whether it is the first of a longer time tells the hour before it, so users of any time are counted by an index.
create table auth_active_hours (
  user_id text not null references auth_users (id) on delete cascade,
  hour bigint not null,                   -- hours since 1970
  previous_hour bigint,                   -- in which the user was active before; null: never
  primary key (user_id, hour)
);
create index auth_active_hours_hour on auth_active_hours (hour, previous_hour);

insert into auth_active_hours (user_id, hour, previous_hour)
select user_id, hour, lag(hour) over (partition by user_id order by hour) from (
  select user_id, created_at / 3600000 as hour from auth_sessions where kind is null
  union select user_id, last_used_at / 3600000 from auth_sessions where kind is null) as used;

create function auth_session_use() returns trigger language plpgsql as $$
begin
  insert into auth_active_hours (user_id, hour, previous_hour)
  select new.user_id, new.last_used_at / 3600000, (
    select max(hour) from auth_active_hours where user_id = new.user_id and hour < new.last_used_at / 3600000)
  where new.kind is null
  on conflict (user_id, hour) do nothing;
  return null;
end
$$;

create trigger auth_sessions_begun after insert on auth_sessions
  for each row execute function auth_session_use();

create trigger auth_sessions_used after update of last_used_at on auth_sessions
  for each row when (new.last_used_at / 3600000 > old.last_used_at / 3600000) execute function auth_session_use();
