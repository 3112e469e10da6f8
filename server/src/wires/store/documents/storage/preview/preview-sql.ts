import { sql, type Sql } from '../../../../../db/sql.ts'
import { PREVIEW_BYTES, PREVIEW_FIELD_BYTES, PREVIEW_MARK_BYTES, PREVIEW_NAME_BYTES } from './preview.ts'

const number = (value: number): Sql => sql.literal(String(value))

/** The preview of row `d` of store_documents: see `previewOf`, which is the function of SQLite. */
export const previewSql = (characters: number): Sql =>
  sql`${sql.either({
    sqlite: sql`store_preview(d.body, ${characters})`,
    postgres: postgresPreviewSql(number(characters)),
  })}`

/**
 * The characters of a value, if it is text, or else its JSON. PostgreSQL takes milliseconds to read a text of 1 MiB from JSON, so
 * one without escapes is cut out of it.
 */
const TEXT = sql`case
  when kind <> 'string' then value::text
  when position('\\' in value::text) = 0 then substr(value::text, 2, length(value::text) - 2)
  else value #>> '{}' end`

/** How many characters, elements or fields a value has. */
const SIZE = sql`case kind
  when 'string' then length(content)
  when 'array' then json_array_length(value)
  when 'object' then (select count(*) from json_object_keys(value)) end`

const elementsSql = (characters: Sql): Sql => sql`(
  select '[' || coalesce(string_agg(element::text, ',' order by at), '') || ']' from (
    select at, element, sum(length(element::text) + 1) over (order by at) as used
    from json_array_elements(value) with ordinality as parts (element, at)
  ) as elements where used <= ${characters})`

const membersSql = (characters: Sql): Sql => sql`(
  select '{' || coalesce(string_agg(to_json(name)::text || ':' || inner_value::text, ',' order by at), '') || '}' from (
    select at, name, inner_value,
      sum(length(name) + length(inner_value::text) + 1) over (order by at) as used
    from json_each(value) with ordinality as parts (name, inner_value, at)
  ) as members where used <= ${characters})`

const isService = sql`name in ('_id', 'createdAt', 'updatedAt')`

// Without `offset 0` each value would be read again wherever it is named.
const postgresPreviewSql = (characters: Sql): Sql => sql`(
  select '{' || string_agg(to_json(name)::text || ':' || shown, ',' order by place) filter (where fits)
    || ',"$preview":{"cut":{'
    || coalesce(string_agg(to_json(name)::text || ':{"type":"' || kind || '","length":' || size || '}', ',' order by place)
      filter (where fits and is_cut), '')
    || '},"omitted":' || count(*) filter (where not fits) || '}}'
  from (
    select *, cost > 0 and sum(cost) over (order by place) <= ${number(PREVIEW_BYTES)} or ${isService} as fits from (
      select *, case
        when ${isService} or octet_length(name) > ${number(PREVIEW_NAME_BYTES)} then 0
        else octet_length(name) + octet_length(shown) + ${number(PREVIEW_FIELD_BYTES)}
          + case when is_cut then octet_length(name) + ${number(PREVIEW_MARK_BYTES)} else 0 end
        end as cost
      from (
        select place, name, kind, is_cut, case when is_cut then ${SIZE} end as size,
          case when not is_cut then value::text
            when kind = 'string' then to_json(left(content, ${characters}))::text
            when kind = 'array' then ${elementsSql(characters)}
            else ${membersSql(characters)} end as shown
        from (
          select *, kind in ('string', 'array', 'object') and length(content) > ${characters} as is_cut from (
            select *, ${TEXT} as content from (
              select place, name, value, json_typeof(value) as kind
              from json_each(d.body) with ordinality as fields (name, value, place) offset 0
            ) as kinds offset 0
          ) as texts offset 0
        ) as measured offset 0
      ) as parts offset 0
    ) as costs
  ) as chosen)`
