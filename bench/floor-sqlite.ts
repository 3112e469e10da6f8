import { DatabaseSync } from 'node:sqlite'

import type { Documents, Fields, ListKind, StoredDocument } from './floor.ts'
import { inGroups } from './groups.ts'

type BodyRow = { body: string }

const N = "doc ->> '$.n'"
const LISTS: Record<ListKind, { where: string; order: string }> = {
  all: { where: '', order: 'id desc' },
  sorted: { where: '', order: `${N}, id` },
  range: { where: `and ${N} >= ? and ${N} < ?`, order: `${N}, id` },
  scan: { where: "and doc ->> '$.active' = 1 and doc ->> '$.price' < ?", order: 'id desc' },
}

/** The floor on SQLite, all of it on the main thread. Creates of one turn of the event loop share a commit. */
export function openDocuments(file: string, fields: Fields): Documents {
  const db = new DatabaseSync(file)
  // The settings of server/src/db/sqlite-connection.ts.
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma cache_size = -4000;
    pragma journal_size_limit = 67108864;
    create table if not exists documents (
      collection text not null, id text not null, owner text not null, version integer not null, body text not null,
      doc blob, primary key (collection, id)
    ) without rowid;
    create table if not exists counters (collection text primary key, total integer not null) without rowid;
    insert or ignore into counters values ('items', 0);
    ${fields === 'indexed' ? `create index if not exists documents_n on documents (collection, ${N}, id)` : ''}
  `)
  const doc = fields === 'none' ? 'null' : 'jsonb(?2)'
  const insert = db.prepare(`insert into documents values ('items', ?1, 'floor', 1, ?2, ${doc})`)
  const addToCount = db.prepare(`update counters set total = total + ? where collection = 'items'`)
  const byId = db.prepare(`select body from documents where collection = 'items' and id = ?`)
  const counted = db.prepare(`select total from counters where collection = 'items'`)
  const statements = new Map(
    Object.entries(LISTS).map(([kind, { where, order }]) => {
      const from = `from documents where collection = 'items' ${where}`
      const page = db.prepare(`select body ${from} order by ${order} limit ?`)
      return [kind, { page, total: where === '' ? counted : db.prepare(`select count(*) as total ${from}`) }]
    }),
  )
  return {
    create: inGroups(1, async (groups: StoredDocument[][]) => {
      const documents = groups.flat()
      db.exec('begin immediate')
      for (const { id, body } of documents) insert.run(id, body)
      addToCount.run(documents.length)
      db.exec('commit')
      return groups
    }),
    get: (id) => (byId.get(id) as BodyRow | undefined)?.body,
    list(kind, values, limit) {
      const { page, total } = statements.get(kind)!
      const rows = page.all(...values, limit) as BodyRow[]
      return { bodies: rows.map(({ body }) => body), total: Number(total.get(...values)!['total']) }
    },
  }
}
