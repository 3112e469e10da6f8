import { randomToken } from '../../../../../base/crypto.ts'
import { sql, type Sql } from '../../../../../db/sql.ts'

/** The steps that note whose changes are not logged. */
export function unloggedSql(unlogged: readonly string[]): Sql[] {
  const names = JSON.stringify(unlogged)
  const namesSql = sql.either({
    sqlite: sql`select value as name from json_each(${names})`,
    postgres: sql`select json_array_elements_text(cast(${names} as json)) as name`,
  })
  return [
    sql`delete from store_unlogged where collection <> '*' and collection not in (${namesSql})`,
    sql`
      insert into store_unlogged (collection) select name from (${namesSql}) as named where true
      on conflict do nothing`,
  ]
}

/** The statements that replace the log of changes by an empty one. Followers of the old log receive `reset`. */
export const newLogSql = (): Sql[] => [
  sql`delete from store_changes`,
  sql`update store_feed set generation = ${randomToken()}, floor_xid = 0, floor_seq = 0`,
]
