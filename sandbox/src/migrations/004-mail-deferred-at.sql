-- So that the oldest can go.
alter table sandbox_mail_deferred add column deferred_at bigint not null default 0;
