import pg from 'pg'

import type { Documents, Fields, ListKind, Page, StoredDocument } from './floor.ts'
import { inGroups } from './groups.ts'

const N = "(doc -> 'n')::numeric"
const LISTS: Record<ListKind, { where: string; order: string }> = {
  all: { where: '', order: 'id desc' },
  sorted: { where: '', order: `${N}, id` },
  range: { where: `and ${N} >= $2 and ${N} < $3`, order: `${N}, id` },
  scan: { where: "and (doc -> 'active')::boolean and (doc -> 'price')::numeric < $2", order: 'id desc' },
}
const COUNTED = `(select sum(total) from counters where collection = 'items')`
const CONNECTIONS = 10 // as many as Sixwire's pool has
const READS = 4 // queries under way beyond which reads wait for each other, as in Sixwire
const WRITES = 2

/** The floor on PostgreSQL: reads that come together are one query, and so are writes. */
export async function openDocuments(url: string, fields: Fields): Promise<Documents> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query(`
    create table if not exists documents (
      collection text collate "C" not null, id text collate "C" not null, owner text not null, version bigint not null,
      body json not null, doc jsonb, primary key (collection, id)
    );
    create table if not exists counters (collection text, slot bigint, total bigint not null, primary key (collection, slot));
    ${fields === 'indexed' ? `create index if not exists documents_n on documents (collection, (${N}), id)` : ''}
  `)
  const ask = async <R extends pg.QueryResultRow>(name: string, text: string, values: unknown[]) =>
    (await pool.query<R>({ name, text, values })).rows

  const insert = `
    with added as (
      insert into documents select 'items', id, 'floor', 1, body::json, ${fields === 'none' ? 'null' : 'body::jsonb'}
      from unnest($1::text[], $2::text[]) as new (id, body)
    )
    insert into counters values ('items', pg_backend_pid() % 16, cardinality($1::text[]))
    on conflict (collection, slot) do update set total = counters.total + excluded.total`
  const byIds = `select id, body::text from documents where collection = 'items' and id = any($1)`

  async function list(kind: ListKind, values: number[], limit: number): Promise<Page> {
    const { where, order } = LISTS[kind]
    const from = `from documents where collection = 'items' ${where}`
    const total = where === '' ? COUNTED : `(select count(*) ${from})`
    const text = `select ${total} as total, array(select body::text ${from} order by ${order} limit $1) as bodies`
    const [row] = await ask<{ bodies: string[]; total: string }>(kind, text, [limit, ...values])
    return { bodies: row!.bodies, total: Number(row!.total) }
  }
  // The newest documents are read once for all who ask for them together.
  const newest = inGroups(READS, async (limits: number[]) => {
    const pages = new Map([...new Set(limits)].map((limit) => [limit, list('all', [], limit)]))
    return Promise.all(limits.map((limit) => pages.get(limit)!))
  })

  return {
    create: inGroups(WRITES, async (groups: StoredDocument[][]) => {
      const rows = groups.flat()
      await ask('insert', insert, [rows.map(({ id }) => id), rows.map(({ body }) => body)])
      return groups
    }),
    get: inGroups(READS, async (ids: string[]) => {
      const rows = await ask<StoredDocument>('get', byIds, [ids])
      const bodies = new Map(rows.map(({ id, body }) => [id, body]))
      return ids.map((id) => bodies.get(id))
    }),
    list: (kind, values, limit) => (kind === 'all' ? newest(limit) : list(kind, values, limit)),
  }
}
