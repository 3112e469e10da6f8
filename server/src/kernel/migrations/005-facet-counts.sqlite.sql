-- How many records a list holds with each combination of values of its facets, in all (owner '') and of each owner.
-- `facets` is the JSON array of the values.
create table sixwire_facet_counts (
  list text not null,
  owner text not null,
  facets text not null,
  slot integer not null,
  records integer not null,
  primary key (list, owner, facets, slot)
) without rowid;

-- Triggers of lists insert here how many records come (change 1) or go (change -1). A record whose `owner` is null is
-- counted among all.
create view sixwire_facet_changes (list, owner, facets, change) as
  select list, owner, facets, records from sixwire_facet_counts;

create trigger sixwire_facet_changes_counted instead of insert on sixwire_facet_changes begin
  insert into sixwire_facet_counts (list, owner, facets, slot, records)
  select new.list, per.owner, new.facets, 0, new.change from (select '' as owner union all select new.owner) as per
  where per.owner is not null
  on conflict (list, owner, facets, slot) do update set records = records + excluded.records;
end;
