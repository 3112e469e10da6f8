-- What `$expr` compares: see documents/language/query/expression.ts.
-- Of `json` and not `jsonb`, because objects compare by their fields in their order.

-- The value at a path: of an array on the way, the array of what its objects have behind it. Null for "missing".
create function store_expression_value(document json, path text[]) returns json
language plpgsql immutable parallel safe as $$
declare
  value json := document;
  elements json;
begin
  for place in 1 .. cardinality(path) loop
    if json_typeof(value) = 'array' then
      select json_agg(inner_values.value order by inner_values.number) into elements
      from (
        select store_expression_value(each.element, path[place:]) as value, each.number
        from json_array_elements(value) with ordinality as each (element, number)
        where json_typeof(each.element) = 'object'
        offset 0
      ) as inner_values
      where inner_values.value is not null;
      return coalesce(elements, '[]');
    end if;
    if json_typeof(value) is distinct from 'object' then return null; end if;
    value := value -> path[place];
  end loop;
  return value;
end
$$;

-- The bytes that it compares by: none for "missing", which comes before all values.
create function store_expression_key(document json, path text[]) returns bytea
language plpgsql immutable parallel safe cost 1000 as $$
declare
  value constant json := store_expression_value(document, path);
begin
  return case when value is null then ''::bytea else store_sort_key(value) end;
end
$$;
