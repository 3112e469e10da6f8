import pg from 'pg'

import type { Documents } from './floor.ts'

type BodyRow = { body: string }
type PageRow = BodyRow & { total: string }

const CONNECTIONS = 10 // as many as Sixwire's pool has
const READS = 4 // queries under way beyond which reads wait for each other, as in Sixwire
const WRITES = 2

/**
 * Does what arrives in one turn of the event loop at once, and what comes while `most` groups are under way in the next.
 *
 * @param run answers one result for each item
 */
function inGroups<T, R>(most: number, run: (items: T[]) => Promise<R[]>): (item: T) => Promise<R> {
  type Waiting = { item: T; resolve: (result: R) => void; reject: (error: unknown) => void }
  let waiting: Waiting[] = []
  let underWay = 0
  let isScheduled = false

  async function runGroup(): Promise<void> {
    isScheduled = false
    const group = waiting
    waiting = []
    underWay++
    try {
      const results = await run(group.map(({ item }) => item))
      for (const [at, { resolve }] of group.entries()) resolve(results[at]!)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    underWay--
    schedule()
  }

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || underWay >= most) return
    isScheduled = true
    setImmediate(() => void runGroup())
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      schedule()
    })
}

/** The floor on PostgreSQL: reads that come together are one query, and so are writes. */
export async function openDocuments(url: string): Promise<Documents> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query(`
    create table if not exists documents (
      collection text collate "C" not null,
      id text collate "C" not null,
      owner text not null,
      version bigint not null,
      body json not null,
      primary key (collection, id)
    );
    create table if not exists counters (collection text, slot bigint, total bigint not null, primary key (collection, slot));
  `)
  const ask = async <R extends pg.QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
  ): Promise<R[]> => (await pool.query<R>({ name, text, values })).rows

  const insert = `
    with added as (
      insert into documents select 'items', id, 'floor', 1, body::json from unnest($1::text[], $2::text[]) as new (id, body)
    )
    insert into counters values ('items', pg_backend_pid() % 16, cardinality($1::text[]))
    on conflict (collection, slot) do update set total = counters.total + excluded.total`
  const byIds = `select id, body::text from documents where collection = 'items' and id = any($1)`
  const newest = `select body::text, (select sum(total) from counters where collection = 'items') as total
    from documents where collection = 'items' order by id desc limit $1 offset $2`
  const matching = `from documents where collection = 'items' and (body ->> 'n')::numeric < $1`

  const create = inGroups(WRITES, async (rows: { id: string; body: string }[]) => {
    await ask('insert', insert, [rows.map(({ id }) => id), rows.map(({ body }) => body)])
    return rows
  })

  const get = inGroups(READS, async (ids: string[]) => {
    const rows = await ask<BodyRow & { id: string }>('get', byIds, [ids])
    const bodies = new Map(rows.map(({ id, body }) => [id, body]))
    return ids.map((id) => bodies.get(id))
  })

  // Pages that are asked for together are one query if they are the same page.
  const page = inGroups(READS, (pages: { limit: number; offset: number }[]) => {
    const answers = new Map<string, Promise<PageRow[]>>()
    for (const { limit, offset } of pages) {
      const key = `${limit} ${offset}`
      if (!answers.has(key)) answers.set(key, ask<PageRow>('page', newest, [limit, offset]))
    }
    return Promise.all(pages.map(({ limit, offset }) => answers.get(`${limit} ${offset}`)!))
  })

  return {
    create: (id, body) => create({ id, body }),
    get,

    async list(limit, offset, below) {
      if (below === undefined) {
        const rows = await page({ limit, offset })
        return { bodies: rows.map(({ body }) => body), total: Number(rows[0]?.total ?? 0) }
      }
      const [rows, [counted]] = await Promise.all([
        ask<BodyRow>('filtered', `select body::text ${matching} order by id desc limit $2 offset $3`, [
          below,
          limit,
          offset,
        ]),
        ask<{ total: string }>('matching', `select count(*) as total ${matching}`, [below]),
      ])
      return { bodies: rows.map(({ body }) => body), total: Number(counted!.total) }
    },
  }
}
