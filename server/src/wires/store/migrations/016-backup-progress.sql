-- How far a running backup is, in bytes of what it saves; written as its lease is renewed.
alter table store_backups add column bytes_done bigint not null default 0;
alter table store_backups add column bytes_total bigint not null default 0;
