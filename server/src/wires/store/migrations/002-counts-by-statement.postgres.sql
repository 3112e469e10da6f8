-- Counts once for a statement, however many documents it adds or removes.
create function store_count_statement() returns trigger language plpgsql as $$
begin
  -- In one order everywhere, so that two writers never wait for each other in a circle.
  insert into store_counts as counts (collection, owner, slot, documents)
  select changed.collection, per.owner, pg_backend_pid() % 16,
    case tg_op when 'INSERT' then count(*) else -count(*) end
  from changed cross join lateral (values (''), (changed.owner)) as per (owner)
  group by changed.collection, per.owner
  order by changed.collection, per.owner collate "C"
  on conflict (collection, owner, slot) do update set documents = counts.documents + excluded.documents;
  return null;
end
$$;

drop trigger store_documents_counted on store_documents;
drop function store_count_documents();

create trigger store_documents_added after insert on store_documents
referencing new table as changed for each statement execute function store_count_statement();

create trigger store_documents_removed after delete on store_documents
referencing old table as changed for each statement execute function store_count_statement();
