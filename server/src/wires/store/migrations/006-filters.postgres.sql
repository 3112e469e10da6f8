-- What a filter asks of a document where jsonpath cannot say it exactly: see documents/query/postgres/exact.ts.
-- Of `json` and not `jsonb`, because objects are equal and compare by their fields in their order.

-- The values at a path, as `Test` in documents/query/filter.ts defines them; null for "missing".
-- Without `elements`, a value at the end of the path that is an array stands for itself only.
create function store_values(document json, path text[], elements boolean) returns setof json rows 10
language plpgsql immutable parallel safe as $$
declare
  parts constant integer := cardinality(path);
  -- Where the path goes on, and with which part: not by recursion, whose name would be looked up in the search path.
  pending json[] := array[document];
  places integer[] := array[1];
  next integer := 1;
  value json;
  place integer;
  element json;
  index bigint;
begin
  while next <= cardinality(pending) loop
    value := pending[next];
    place := places[next];
    next := next + 1;
    while place <= parts and json_typeof(value) = 'object' loop
      value := value -> path[place];
      place := place + 1;
    end loop;
    if place > parts then
      return next value;
      if elements and json_typeof(value) = 'array' then
        return query select * from json_array_elements(value);
      end if;
    elsif json_typeof(value) = 'array' then
      for element, index in
        select each.value, each.ordinality - 1 from json_array_elements(value) with ordinality as each
      loop
        if json_typeof(element) = 'object' then
          pending := pending || element;
          places := places || place;
        end if;
        if index::text <> path[place] then
          continue;
        elsif place = parts then
          return next element;
        elsif json_typeof(element) in ('object', 'array') then
          pending := pending || element;
          places := places || (place + 1);
        end if;
      end loop;
    else
      return next null;
    end if;
  end loop;
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
create function store_type(value json) returns text language sql immutable parallel safe
return case json_typeof(value)
  when 'boolean' then 'bool'
  when 'number' then (
    select case
      when number <> trunc(number) or number not between -9223372036854775808 and 9223372036854775807 then 'double'
      when number between -2147483648 and 2147483647 then 'int'
      else 'long'
    end
    from (select (value #>> '{}')::numeric as number offset 0) as converted
  )
  else json_typeof(value)
end;

-- Whether a value is a number that, cut to an integer of 64 bits, has the remainder.
create function store_has_remainder(value json, divisor numeric, remainder numeric) returns boolean
language sql immutable parallel safe
return case when json_typeof(value) = 'number' then
  case when (value #>> '{}')::numeric between -9223372036854775808 and 9223372036854775807
    then mod(trunc((value #>> '{}')::numeric), divisor) = remainder
    else false
  end
  else false
end;
