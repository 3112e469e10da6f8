-- Room that uploads take while their bytes arrive, for quotas. One whose process has ended counts until it is due.
create table store_reservations (
  id text primary key,
  owner text not null,
  bytes bigint not null,
  due bigint not null
);
