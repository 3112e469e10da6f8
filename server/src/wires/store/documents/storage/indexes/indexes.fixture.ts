import assert from 'node:assert/strict'

import { parseJson } from '../../../../../base/json.ts'
import { sql } from '../../../../../db/sql.ts'
import type { TestApp } from '../../../../../testing/app.ts'
import { until } from '../../../../../testing/until.ts'
import type { Json } from '../../language/query/filter.ts'
import { entriesOf, namesOf } from '../entries/entries.ts'
import { indexOf, selectIndexesSql } from '../sql/index-rows.ts'

/** The indexes of a server, with their fields as they are declared. */
export async function indexesOf({ app: { db } }: TestApp) {
  const rows = await db.all(selectIndexesSql())
  return rows.map((row) => ({ ...indexOf(row), names: namesOf(indexOf(row).fields), reason: row.reason }))
}

/** Waits until there is nothing more to be built or deleted. */
export const readyIndexes = ({ app: { db } }: TestApp): Promise<void> =>
  until(
    async () => (await db.get(sql`select id from sixwire_jobs where kind = 'store.indexes'`)) === undefined,
  )

/** The entries in the tables are those of the documents: none is missing, and there are no others. */
export async function assertEntries(app: TestApp): Promise<void> {
  const { db } = app.app
  const indexes = (await indexesOf(app)).filter(({ state, isSearch }) => state === 'ready' && !isSearch)
  const documents = await db.scan<{ collection: string; id: string; owner: string; body: string }>(sql`
    select collection, id, owner, body from store_documents
    where collection in (select collection from store_indexes where state = 'ready')`)
  const expected = indexes.flatMap(({ id, collection, isUnique, byOwner, ...rules }) =>
    documents
      .filter((document) => document.collection === collection)
      .flatMap((document) =>
        entriesOf(parseJson(document.body) as Json, rules).entries.map(({ key, ends }) =>
          [id, key.toString('hex'), document.id, byOwner ? document.owner : '', ends, isUnique ? 1 : 0].join(
            ' ',
          ),
        ),
      ),
  )
  const rows = await db.scan<{ line: string }>(sql`
    select index_id || ' ' || lower(${sql.either({ sqlite: sql`hex(key)`, postgres: sql`encode(key, 'hex')` })})
      || ' ' || id || ' ' || coalesce(owner, '') || ' ' || ends || ' '
      || case when is_unique then 1 else 0 end as line
    from store_entries`)
  assert.deepEqual(rows.map(({ line }) => line).toSorted(), expected.toSorted())
}
