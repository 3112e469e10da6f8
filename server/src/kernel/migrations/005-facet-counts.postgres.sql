-- How many records a list holds with each combination of values of its facets, in all (owner '') and of each owner.
-- `facets` is the JSON array of the values. Slots are those of sixwire_counts.
create table sixwire_facet_counts (
  list text collate "C" not null,
  owner text collate "C" not null,
  facets text collate "C" not null,
  slot integer not null,
  records bigint not null,
  primary key (list, owner, facets, slot)
) with (fillfactor = 50);

create type sixwire_facet_change as (owner text, facets text, change bigint);

-- For triggers that run once a statement: their arguments are the name of the list and the columns of its facets, their
-- transition tables `added` and `removed`. A record whose `owner` is null is counted among all.
create function sixwire_count_facets() returns trigger language plpgsql as $$
declare
  slot integer := pg_backend_pid() % 16;
  changes sixwire_facet_change[] := '{}';
begin
  if tg_op <> 'DELETE' then
    changes := changes || array(
      select (r.owner, r.facets, count(*))::sixwire_facet_change from (
        select added.owner, (
          select coalesce(jsonb_agg(to_jsonb(added) -> f.name order by f.place), '[]')::text
          from unnest(tg_argv[1:]) with ordinality as f (name, place)) as facets
        from added) as r
      group by r.owner, r.facets);
  end if;
  if tg_op <> 'INSERT' then
    changes := changes || array(
      select (r.owner, r.facets, -count(*))::sixwire_facet_change from (
        select removed.owner, (
          select coalesce(jsonb_agg(to_jsonb(removed) -> f.name order by f.place), '[]')::text
          from unnest(tg_argv[1:]) with ordinality as f (name, place)) as facets
        from removed) as r
      group by r.owner, r.facets);
  end if;
  -- Statements of one transaction change counters in any order; so a slot of a list has one writer at a time, and two
  -- never wait for each other in a circle.
  perform pg_advisory_xact_lock(hashtext(tg_argv[0]), slot);
  insert into sixwire_facet_counts as counts (list, owner, facets, slot, records)
  select tg_argv[0], per.owner, c.facets, slot, sum(c.change)
  from unnest(changes) as c cross join lateral (values (''), (c.owner)) as per (owner)
  where per.owner is not null
  group by per.owner, c.facets
  having sum(c.change) <> 0
  on conflict on constraint sixwire_facet_counts_pkey do update set records = counts.records + excluded.records;
  return null;
end
$$;

-- Counts the records of a table from now on, and those that it has: name of the list, table, columns of the facets.
create function sixwire_count_list(list text, counted text, variadic facets text[]) returns void language plpgsql as $$
declare
  arguments text := (select string_agg(quote_literal(a), ', ') from unnest(array[list] || facets) as a);
  columns text := (select string_agg(quote_ident(f), ', ') from unnest(facets) as f);
begin
  execute format('create trigger %I after insert on %I referencing new table as added
    for each statement execute function sixwire_count_facets(%s)', counted || '_added', counted, arguments);
  execute format('create trigger %I after delete on %I referencing old table as removed
    for each statement execute function sixwire_count_facets(%s)', counted || '_removed', counted, arguments);
  execute format('create trigger %I after update on %I referencing old table as removed new table as added
    for each statement execute function sixwire_count_facets(%s)', counted || '_changed', counted, arguments);
  execute format('insert into sixwire_facet_counts (list, owner, facets, slot, records)
    select %L, per.owner, jsonb_build_array(%s)::text, 0, count(*)
    from %I as counted cross join lateral (values (''''), (counted.owner)) as per (owner)
    where per.owner is not null group by per.owner, 3', list, columns, counted);
end
$$;
