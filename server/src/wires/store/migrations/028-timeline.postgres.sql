-- Changes of an account by time. On SQLite an index has the position anyway.
drop index store_changes_owner;
create index store_changes_owner on store_changes (owner, seq);
