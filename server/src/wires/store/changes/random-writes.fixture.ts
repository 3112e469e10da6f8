import { setTimeout as delay } from 'node:timers/promises'

import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { newId } from '../../../base/ids.ts'
import type { TestApp } from '../../../testing/app.ts'
import { storedColumn, storedSql } from '../documents/storage/sql/document-rows.ts'

export type Random = (below: number) => number

/** Numbers that follow from a seed: mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return Math.floor((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

export const pick = <T>(random: Random, of: readonly T[]): T => of[random(of.length)]!

const DOCUMENTS = 60
const TEAMS = ['red', 'blue', 'green']

export type Writing = { readonly random: Random; readonly users: readonly string[] }

/** A document that is in some of the filters and rules, and not in others. */
const anyFields = ({ random, users }: Writing) => ({
  n: random(10),
  state: pick(random, ['open', 'done']),
  members: users.filter(() => random(2) === 0),
  team: pick(random, TEAMS),
  text: 'x'.repeat(random(200)),
})

/** The ids that writers know of. */
export type Pool = Map<string, string[]>

/** Writes by requests, one after the other, until it is stopped. */
export async function writeByRequests(
  { request }: Pick<TestApp, 'request'>,
  token: string,
  pool: Pool,
  {
    writing,
    isOver,
    collections,
  }: { writing: Writing; isOver: () => boolean; collections: readonly string[] },
): Promise<number> {
  const { random, users } = writing
  let writes = 0
  while (!isOver()) {
    const collection = pick(random, collections)
    const ids = pool.get(collection) ?? []
    pool.set(collection, ids)
    const doesCreate = ids.length === 0 || (ids.length < DOCUMENTS && random(3) === 0)
    const body =
      collection === 'memberships'
        ? { user: pick(random, users), team: pick(random, TEAMS) }
        : anyFields(writing)
    if (doesCreate) {
      const answer = await request('POST', `/store/${collection}`, { token, body })
      if (answer.status === 201) ids.push(answer.body._id)
    } else {
      const id = pick(random, ids)
      const doesDelete = collection === 'memberships' || random(6) === 0
      if (doesDelete) ids.splice(ids.indexOf(id), 1)
      await request(doesDelete ? 'DELETE' : 'PATCH', `/store/${collection}/${id}`, {
        token,
        ...(!doesDelete && { body }),
      })
    }
    writes++
  }
  return writes
}

/** Writes by transactions of several statements, which commit in another order than they began, or not at all. */
export async function writeByTransactions(
  db: Database,
  pool: Pool,
  { writing, isOver, collection }: { writing: Writing; isOver: () => boolean; collection: string },
): Promise<number> {
  const { random } = writing
  // As few as a list shows, however quick the machine is.
  const own = Array.from({ length: DOCUMENTS }, newId)
  let writes = 0
  while (!isOver())
    await db
      .transaction(
        async (tx) => {
          for (let left = 1 + random(4); left > 0; left--) {
            await tx.write(anyStatement(writing, [...(pool.get(collection) ?? []), ...own], collection))
            writes++
            if (tx.dialect === 'sqlite') continue
            if (random(3) === 0) await delay(random(20))
          }
          if (random(8) === 0) throw new Error('rolled back')
        },
        { isolation: 'read committed' },
      )
      .catch(() => undefined)
  return writes
}

function anyStatement(writing: Writing, ids: readonly string[], collection: string): Sql {
  const { random } = writing
  const id = pick(random, ids)
  const text = JSON.stringify({ _id: id, createdAt: '', updatedAt: '', ...anyFields(writing) })
  const kind = random(4)
  if (kind === 0) return sql`delete from store_documents where collection = ${collection} and id = ${id}`
  return sql`
    insert into store_documents (collection, id, owner, version, index_set, ${storedColumn})
    values (${collection}, ${id}, ${pick(random, writing.users)}, 1, 0, ${storedSql(text)})
    on conflict (collection, id) do update set
      ${storedColumn} = excluded.${storedColumn}, owner = excluded.owner, version = store_documents.version + 1`
}
