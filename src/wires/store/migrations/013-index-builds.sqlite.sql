-- Builds insert entries under the lock of their documents: nothing that is removed can come back, so nothing keeps it as dead.
delete from store_entries where ends = -1;
drop index store_entries_dead;
-- The id of the last document whose entries a build has inserted: it goes on from there, whichever process it is.
alter table store_indexes add column built_to text not null default '';
alter table store_indexes drop column build;
update store_indexes set documents = 0 where state = 'building';
