-- Bytes that compare as MongoDB compares values of all types: the same as `sortKeyOf` in documents/sort-key.ts makes.
-- Of `json` and not `jsonb`, because objects compare by their fields in their order.
create function store_sort_key(value json) returns bytea language plpgsql immutable parallel safe cost 1000 as $$
declare
  kind constant text := json_typeof(value);
  double bytea;
  content bytea;
begin
  if kind = 'string' then
    return '\x30'::bytea || store_text_key(value #>> '{}');
  elsif kind = 'number' then
    double := float8send((value #>> '{}')::float8 + 0); -- -0 + 0 is 0
    if get_bit(double, 7) = 0 then return '\x20'::bytea || set_bit(double, 7, 1); end if;
    return '\x20'::bytea || int8send(~ ('x' || encode(double, 'hex'))::bit(64)::int8);
  elsif kind = 'null' then
    return '\x10'::bytea;
  elsif kind = 'boolean' then
    return case when value #>> '{}' = 'true' then '\x6001'::bytea else '\x6000'::bytea end;
  elsif kind = 'array' then
    select string_agg(store_sort_key(element), ''::bytea order by place) into content
    from json_array_elements(value) with ordinality as elements (element, place);
    return '\x50'::bytea || coalesce(content, ''::bytea) || '\x00'::bytea;
  else
    select string_agg(substr(key, 1, 1) || store_text_key(name) || substr(key, 2), ''::bytea order by place) into content
    from json_each(value) with ordinality as fields (name, field, place)
    cross join lateral (select store_sort_key(field) as key offset 0) as keys;
    return '\x40'::bytea || coalesce(content, ''::bytea) || '\x00'::bytea;
  end if;
end
$$;

-- U+0000 cannot be in text here.
create function store_text_key(content text) returns bytea language sql stable parallel safe
return convert_to(replace(content, E'\x01', E'\x01\x02'), 'UTF8') || '\x00'::bytea;

-- Follows a path from an object, or from an array by its index, up to its end or the next array; null for a missing field.
create function store_follow(value json, path text[], start integer, out target json, out reached integer)
language plpgsql immutable parallel safe as $$
begin
  target := value;
  reached := start;
  loop
    reached := reached + 1;
    target := case json_typeof(target)
      when 'object' then target -> path[reached]
      when 'array' then case when path[reached] ~ '^(0|[1-9][0-9]{0,8})$' then target -> path[reached]::integer end
    end;
    if target is null then
      target := 'null';
      reached := cardinality(path);
      return;
    end if;
    if reached = cardinality(path) or json_typeof(target) = 'array' then return; end if;
  end loop;
end
$$;

-- The keys of a document for the fields at `paths`, each an array as text: see `eachKey` in documents/document-keys.ts.
-- One that is null: the document has no key, which fails if `required`.
--
-- `object` is null for a value that is none, and is at `here` in the document. `reached` is how far each path was followed,
-- `keys` are those of fields at their end. `indexed_…` is where a path leads from the array around the object by its index.
create function store_keys(
  paths text[], required boolean, object json, here text[], reached integer[], keys bytea[],
  indexed_value json[], indexed_reached integer[], indexed_here text[], indexed_nested boolean[]
) returns setof bytea[] language plpgsql immutable parallel safe as $$
declare
  path text[];
  part text;
  named boolean;
  target json;
  stop integer;
  there text[];
  list json;
  list_here text[];
  first integer;
  through boolean[] := array_fill(false, array[cardinality(paths)]);
  nested boolean := false; -- an array that is itself an element is a value: its own elements are not
  pending boolean := false;
  same boolean := true;    -- for every element
  element json;
  inner_object json;
  place bigint;
begin
  for i in 1 .. cardinality(paths) loop
    path := paths[i]::text[];
    continue when reached[i] = cardinality(path);
    part := path[reached[i] + 1];
    named := coalesce((object -> part) is not null, false);
    if indexed_value[i] is not null then
      if named then
        if required then raise exception 'no key: ambiguous %', i - 1; end if;
        return next null;
        return;
      end if;
      nested := nested or indexed_nested[i];
      target := indexed_value[i];
      stop := indexed_reached[i];
      there := indexed_here[i]::text[];
    elsif named then
      select follow.target, follow.reached into target, stop from store_follow(object, path, reached[i]) as follow;
      there := here || path[reached[i] + 1 : stop];
    else
      target := 'null';
      stop := cardinality(path);
    end if;
    reached[i] := stop;
    if json_typeof(target) <> 'array' then
      keys[i] := store_sort_key(target);
      continue;
    end if;
    if list is not null and there <> list_here then
      if required then raise exception 'no key: parallel % %', first - 1, i - 1; end if;
      return next null;
      return;
    end if;
    if list is null then
      list := target;
      list_here := there;
      first := i;
    end if;
    through[i] := true;
  end loop;

  if list is null then
    return next keys;
    return;
  end if;

  indexed_value := '{}';
  for i in 1 .. cardinality(paths) loop
    continue when not through[i];
    path := paths[i]::text[];
    if reached[i] = cardinality(path) then
      if nested then keys[i] := store_sort_key(list); else same := false; end if;
      if json_array_length(list) = 0 then keys[i] := '\x08'; end if;
      continue;
    end if;
    through[i] := false; -- from here on: the fields whose value is the element
    pending := true;
    keys[i] := '\x10';
    part := path[reached[i] + 1];
    element := case when part ~ '^(0|[1-9][0-9]{0,8})$' then list -> part::integer end;
    if element is null then
      same := false;
    else
      select follow.target, follow.reached into target, stop from store_follow(list, path, reached[i]) as follow;
      indexed_value[i] := target;
      indexed_reached[i] := stop;
      indexed_here[i] := (list_here || path[reached[i] + 1 : stop])::text;
      indexed_nested[i] := json_typeof(element) = 'array';
    end if;
  end loop;
  if json_array_length(list) = 0 then
    return next keys;
    return;
  end if;

  for element, place in select elements.value, ordinality from json_array_elements(list) with ordinality as elements loop
    inner_object := case when json_typeof(element) = 'object' then element end;
    if same then
      continue when inner_object is null;
      for i in 1 .. cardinality(paths) loop
        path := paths[i]::text[];
        continue when reached[i] = cardinality(path) or (inner_object -> path[reached[i] + 1]) is null;
        if required then raise exception 'no key: ambiguous %', i - 1; end if;
        return next null;
        return;
      end loop;
      continue;
    end if;
    if not nested then
      for i in 1 .. cardinality(paths) loop
        if through[i] then keys[i] := store_sort_key(element); end if;
      end loop;
    end if;
    if pending then
      return query select * from store_keys(
        paths, required, inner_object, list_here || (place - 1)::text, reached, keys,
        indexed_value, indexed_reached, indexed_here, indexed_nested);
    else
      return next keys;
    end if;
  end loop;
  if same then
    return query select * from store_keys(
      paths, required, null, '{}', reached, keys, indexed_value, indexed_reached, indexed_here, indexed_nested);
  end if;
end
$$;

-- What a document sorts by in field number `field` of a sort, [{path, descending}, …]: of all its keys, in the one that
-- sorts first. Without a key it fails if `required`, and else sorts last.
create function store_document_key(body json, sort jsonb, field integer, required boolean) returns bytea
language plpgsql immutable parallel safe cost 10000 as $$
declare
  paths text[];
  descending boolean[];
  key bytea[];
  first bytea[];
begin
  select
    array_agg(array(select jsonb_array_elements_text(keys.value -> 'path'))::text order by ordinality),
    array_agg((keys.value -> 'descending')::boolean order by ordinality)
  into paths, descending
  from jsonb_array_elements(sort) with ordinality as keys;

  for key in select * from store_keys(
    paths, required, body, '{}', array_fill(0, array[cardinality(paths)]), '{}', '{}', '{}', '{}', '{}')
  loop
    if key is null then return case when descending[field + 1] then ''::bytea else '\xff'::bytea end; end if;
    if first is null then
      first := key;
      continue;
    end if;
    for i in 1 .. cardinality(paths) loop
      continue when key[i] = first[i];
      if (key[i] < first[i]) <> descending[i] then first := key; end if;
      exit;
    end loop;
  end loop;
  return first[field + 1];
end
$$;
