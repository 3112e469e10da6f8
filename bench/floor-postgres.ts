import pg from 'pg'

import type { Documents } from './floor.ts'

type BodyRow = { body: string }
type Waiting = { id: string; body: string; resolve: () => void; reject: (error: unknown) => void }

const CONNECTIONS = 10 // as many as Sixwire's pool has

/** The floor on PostgreSQL. Creates that come while one group is being written make the next group. */
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
    create table if not exists counters (collection text primary key, total bigint not null);
    insert into counters values ('items', 0) on conflict do nothing;
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
    update counters set total = total + cardinality($1::text[]) where collection = 'items'`
  const matching = `from documents where collection = 'items' and (body ->> 'n')::numeric < $1`

  let group: Waiting[] = []
  let writing = false

  async function flush(): Promise<void> {
    writing = true
    while (group.length > 0) {
      const waiting = group
      group = []
      try {
        await ask('insert', insert, [waiting.map(({ id }) => id), waiting.map(({ body }) => body)])
        for (const { resolve } of waiting) resolve()
      } catch (error) {
        for (const { reject } of waiting) reject(error)
      }
    }
    writing = false
  }

  return {
    create: (id, body) =>
      new Promise<void>((resolve, reject) => {
        if (group.length === 0 && !writing) setImmediate(() => void flush())
        group.push({ id, body, resolve, reject })
      }),

    async get(id) {
      const byId = `select body::text from documents where collection = 'items' and id = $1`
      return (await ask<BodyRow>('get', byId, [id]))[0]?.body
    },

    async list(limit, offset, below) {
      const newest = `order by id desc limit ${below === undefined ? '$1 offset $2' : '$2 offset $3'}`
      const [rows, [found]] = await Promise.all(
        below === undefined
          ? [
              ask<BodyRow>('page', `select body::text from documents where collection = 'items' ${newest}`, [
                limit,
                offset,
              ]),
              ask<{ total: string }>('total', `select total from counters where collection = 'items'`, []),
            ]
          : [
              ask<BodyRow>('filtered', `select body::text ${matching} ${newest}`, [below, limit, offset]),
              ask<{ total: string }>('matching', `select count(*) as total ${matching}`, [below]),
            ],
      )
      return { bodies: rows.map((row) => row.body), total: Number(found!.total) }
    },
  }
}
