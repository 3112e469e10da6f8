import { sql, type Sql } from './sql.ts'

/**
 * The condition that a column has one of some texts. One text, however many there are. As an array PostgreSQL looks each up by the
 * key; as a subquery it would read the collection.
 */
export function isOneOf(column: string, texts: readonly string[]): Sql {
  const list = JSON.stringify(texts)
  return sql`${sql.literal(column)} ${sql.either({
    sqlite: sql`in (select value from json_each(${list}))`,
    postgres: sql`= any(array(select json_array_elements_text(${list}::json)))`,
  })}`
}
