import { DatabaseSync } from 'node:sqlite'

import type { ListName } from './query-documents.ts'
import type { ByHand, Lists, TableName } from './lists-by-hand.ts'

// Each in the way that a list of the collection is written for a table of JSONB.
const byHand: Record<ListName, ByHand> = {
  equality: { where: `doc ->> '$.city' = ?`, orderBy: 'id desc' },
  equalityAndRange: {
    where: `doc ->> '$.category' = ? and doc ->> '$.price' >= ? and doc ->> '$.price' < ?`,
    orderBy: `doc ->> '$.price', id`,
  },
  range: { where: `doc ->> '$.n' >= ? and doc ->> '$.n' < ?`, orderBy: `doc ->> '$.n', id` },
  scan: { where: `doc ->> '$.active' = 1 and doc ->> '$.stock' < ?`, orderBy: 'id desc' },
}

const inColumns: ByHand = { where: 'active = 1 and stock < ?', orderBy: 'id desc' }

/**
 * Makes the tables by hand.
 *
 * @param source the database of the server that has the documents
 * @param file of the database to make
 */
export function makeTables(source: string, file: string): void {
  const db = new DatabaseSync(file)
  db.exec(`
    pragma journal_mode = wal;
    pragma synchronous = off;
    attach database '${source.replaceAll("'", "''")}' as server;
    create table documents (id text primary key, doc blob not null) without rowid;
    insert into documents select id, doc from server.store_documents where collection = 'items' order by id;
    create table few (id text primary key, doc blob not null) without rowid;
    insert into few select id, doc from server.store_documents where collection = 'few' order by id;
    create table columns (
      id text primary key, created_at text, updated_at text, name text, n integer, city text, category text, price real,
      maker text, stock integer, active integer, tags text, note text
    ) without rowid;
    insert into columns select id, doc ->> '$.createdAt', doc ->> '$.updatedAt', doc ->> '$.name', doc ->> '$.n',
      doc ->> '$.city', doc ->> '$.category', doc ->> '$.price', doc ->> '$.maker', doc ->> '$.stock',
      doc ->> '$.active', doc -> '$.tags', doc ->> '$.note'
    from few;
    detach database server;
    create index documents_city on documents (doc ->> '$.city', id);
    create index documents_category on documents (doc ->> '$.category', doc ->> '$.price', id);
    create index documents_n on documents (doc ->> '$.n', id);
    analyze;
  `)
  db.close()
}

/** Lists by hand on SQLite, on the main thread. */
export function openLists(file: string): Lists {
  const db = new DatabaseSync(file)
  db.exec('pragma cache_size = -4000') // as src/db/sqlite-connection.ts
  const prepare = (table: TableName, { where, orderBy }: ByHand) => ({
    total: db.prepare(`select count(*) as total from ${table} where ${where}`),
    page: db.prepare(
      table === 'columns'
        ? `select * from columns where ${where} order by ${orderBy} limit 20`
        : `select json(doc) as body from ${table} where ${where} order by ${orderBy} limit 20`,
    ),
  })
  const statements = new Map(
    (['documents', 'few', 'columns'] as const).flatMap((table) =>
      (Object.keys(byHand) as ListName[])
        .filter((name) => table === 'documents' || name === 'scan')
        .map((name) => [`${table} ${name}`, prepare(table, table === 'columns' ? inColumns : byHand[name])]),
    ),
  )
  return {
    list(table, name, values) {
      const { total, page } = statements.get(`${table} ${name}`)!
      const rows = page.all(...values)
      return {
        data: rows.map((row) => (table === 'columns' ? jsonOf(row) : (row['body'] as string))),
        total: total.get(...values)!['total'] as number,
      }
    },
  }
}

const jsonOf = ({ id, created_at, updated_at, active, tags, ...others }: Record<string, unknown>): string =>
  JSON.stringify({
    _id: id,
    createdAt: created_at,
    updatedAt: updated_at,
    ...others,
    active: active === 1,
    tags: JSON.parse(tags as string) as unknown,
  })
