-- The policy under which a server answered last: data that was guarded is not opened by a forgotten setting.
create table sixwire_served_policy (
  id bigint primary key check (id = 1),
  policy text not null  -- open | guarded
);
