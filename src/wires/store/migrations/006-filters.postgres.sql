-- What a filter asks of a document where jsonpath cannot say it exactly: see documents/query/postgres/exact.ts.
-- Of `json` and not `jsonb`, because objects are equal and compare by their fields in their order.

-- The values at a path, as `Test` in documents/query/filter.ts defines them; null for "missing".
-- Without `elements`, a value at the end of the path that is an array stands for itself only.
create function store_values(document json, path text[], elements boolean) returns setof json
language plpgsql immutable parallel safe as $$
declare
  value json := document;
  place integer := 1;
  parts constant integer := cardinality(path);
  element json;
  index bigint;
begin
  while place <= parts loop
    if json_typeof(value) = 'array' then
      for element, index in
        select each.value, each.ordinality - 1 from json_array_elements(value) with ordinality as each
      loop
        if json_typeof(element) = 'object' then
          return query select * from store_values(element, path[place:], elements);
        end if;
        if index::text <> path[place] then
          continue;
        elsif place = parts then
          return next element;
        elsif json_typeof(element) in ('object', 'array') then
          return query select * from store_values(element, path[place + 1:], elements);
        end if;
      end loop;
      return;
    end if;
    value := case json_typeof(value) when 'object' then value -> path[place] end;
    if value is null then
      return next null;
      return;
    end if;
    place := place + 1;
  end loop;
  return next value;
  if elements and json_typeof(value) = 'array' then
    return query select * from json_array_elements(value);
  end if;
end
$$;

-- An array as an object whose fields are named by its indexes; any other value as it is.
create function store_as_object(value json) returns json language sql immutable parallel safe
return case json_typeof(value)
  when 'array' then (
    select coalesce(json_object_agg((each.ordinality - 1)::text, each.value order by each.ordinality), '{}')
    from json_array_elements(value) with ordinality as each
  )
  else value
end;

-- The type in MongoDB's words, as `typeOf` in documents/query/json-types.ts.
create function store_type(value json) returns text language plpgsql immutable parallel safe as $$
declare
  number numeric;
begin
  case json_typeof(value)
    when 'boolean' then return 'bool';
    when 'number' then
      number := (value #>> '{}')::numeric;
      if number <> trunc(number) or number < -9223372036854776000 or number > 9223372036854775807 then
        return 'double';
      end if;
      return case when number between -2147483648 and 2147483647 then 'int' else 'long' end;
    else return json_typeof(value);
  end case;
end
$$;

-- Whether a value is a number that, cut to an integer of 64 bits, has the remainder.
create function store_has_remainder(value json, divisor numeric, remainder numeric) returns boolean
language sql immutable parallel safe
return case when json_typeof(value) = 'number' then
  case when (value #>> '{}')::numeric between -9223372036854776000 and 9223372036854775807
    then mod(trunc((value #>> '{}')::numeric), divisor) = remainder
    else false
  end
  else false
end;
