-- Which process makes a backup or a restore: what one held that has ended fails at once.
alter table store_backups add column process text;
alter table store_restores add column process text;
