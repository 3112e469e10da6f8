-- The job that deletes unused objects is store.garbage from now on.
delete from sixwire_jobs where kind = 'store.sweep';
