create table loyalty_accounts (
  user_id text primary key,
  points bigint not null check (points >= 0)
);

-- What was given and spent, each under its id: booking again under the same id changes nothing.
create table loyalty_bookings (
  id text primary key,
  user_id text not null,
  points bigint not null,
  booked_at bigint not null
);
