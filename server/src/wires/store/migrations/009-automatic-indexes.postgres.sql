-- When a list was last answered from the index: up to an hour behind, so that few lists write.
alter table store_indexes add column last_used_at bigint;
