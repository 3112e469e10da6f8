-- False once a document has come whose createdAt is not the time of its id: lists are then sorted by createdAt.
alter table store_index_sets add column id_ordered boolean not null default true;
