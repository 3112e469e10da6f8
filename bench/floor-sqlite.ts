import { DatabaseSync } from 'node:sqlite'

import type { Documents } from './floor.ts'

type Waiting = { id: string; body: string; resolve: () => void; reject: (error: unknown) => void }
type BodyRow = { body: string }

/** The floor on SQLite, all of it on the main thread. Creates of one turn of the event loop share a commit. */
export function openDocuments(file: string): Documents {
  const db = new DatabaseSync(file)
  // The settings of src/db/sqlite-connection.ts.
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma cache_size = -4000;
    pragma journal_size_limit = 67108864;
    create table if not exists documents (
      collection text not null,
      id text not null,
      owner text not null,
      version integer not null,
      body text not null,
      primary key (collection, id)
    ) without rowid;
    create table if not exists counters (collection text primary key, total integer not null) without rowid;
    insert or ignore into counters values ('items', 0);
  `)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const insert = db.prepare('insert into documents values (?, ?, ?, 1, ?)')
  const count = db.prepare('update counters set total = total + ? where collection = ?')
  const byId = db.prepare('select body from documents where collection = ? and id = ?')
  const page = db.prepare('select body from documents where collection = ? order by id desc limit ? offset ?')
  const total = db.prepare('select total from counters where collection = ?')
  const matching = `from documents where collection = ? and json_extract(body, '$.n') < ?`
  const filteredPage = db.prepare(`select body ${matching} order by id desc limit ? offset ?`)
  const filteredTotal = db.prepare(`select count(*) as total ${matching}`)

  let group: Waiting[] = []

  function flush(): void {
    const waiting = group
    group = []
    try {
      begin.run()
      for (const { id, body } of waiting) insert.run('items', id, 'floor', body)
      count.run(waiting.length, 'items')
      commit.run()
    } catch (error) {
      if (db.isTransaction) rollback.run()
      for (const { reject } of waiting) reject(error)
      return
    }
    for (const { resolve } of waiting) resolve()
  }

  return {
    create: (id, body) =>
      new Promise<void>((resolve, reject) => {
        if (group.length === 0) setImmediate(flush)
        group.push({ id, body, resolve, reject })
      }),

    get: (id) => (byId.get('items', id) as BodyRow | undefined)?.body,

    list(limit, offset, below) {
      const rows =
        below === undefined
          ? page.all('items', limit, offset)
          : filteredPage.all('items', below, limit, offset)
      const found = below === undefined ? total.get('items') : filteredTotal.get('items', below)
      return {
        bodies: (rows as BodyRow[]).map((row) => row.body),
        total: (found as { total: number }).total,
      }
    },
  }
}
