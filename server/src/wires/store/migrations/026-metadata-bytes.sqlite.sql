-- The metadata of files count as their bytes do, unless they are empty.
drop trigger store_files_added;
drop trigger store_files_removed;

create trigger store_files_added after insert on store_files begin
  insert into store_usage
  select owner, 0, 1, new.size + case new.metadata when '{}' then 0 else octet_length(new.metadata) end
  from (select '' as owner union all select new.owner) where true
  on conflict (owner, slot) do update set files = files + 1, bytes = bytes + excluded.bytes;
end;

create trigger store_files_removed after delete on store_files begin
  update store_usage
  set files = files - 1, bytes = bytes - old.size - case old.metadata when '{}' then 0 else octet_length(old.metadata) end
  where owner in ('', old.owner) and slot = 0;
end;

create trigger store_files_described after update of metadata on store_files begin
  update store_usage
  set bytes = bytes - case old.metadata when '{}' then 0 else octet_length(old.metadata) end
    + case new.metadata when '{}' then 0 else octet_length(new.metadata) end
  where owner in ('', new.owner) and slot = 0;
end;

update store_usage set bytes = store_usage.bytes + described.bytes
from (
  select per.owner, sum(octet_length(metadata)) as bytes
  from (select owner, metadata from store_files union all select '', metadata from store_files) as per
  where metadata <> '{}' group by per.owner
) as described
where store_usage.owner = described.owner and slot = 0;
