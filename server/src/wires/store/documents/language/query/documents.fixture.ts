import { deriveKey } from '../../../../../base/crypto.ts'
import { openDatabase } from '../../../../../db/open.ts'
import { readMigrations } from '../../../../../db/migrations.ts'
import { sql } from '../../../../../db/sql.ts'
import type { Engine } from '../../../../../testing/engines.ts'
import { storedColumn, storedSql } from '../../storage/sql/document-rows.ts'
import type { Json } from './filter.ts'
import { parseList, whereAfterSql, type ListParameters } from '../../lists/parsed-list.ts'
import { cursorBehind, decodeCursor, encodeCursor, exactPosition } from './cursor.ts'
import { listFault } from './sort.ts'

export type Document = Record<string, unknown>

const migrationsFolder = new URL('../../../migrations/', import.meta.url)
const FUNCTIONS = /^(?:00[67]|030)-/

export const cursorKey = deriveKey('a secret of the tests', 'cursor')
/** How the engines write true and false; a function of ours answers SQLite a double. */
const VERDICTS: Readonly<Record<string, boolean>> = {
  1: true,
  '1.0': true,
  true: true,
  0: false,
  '0.0': false,
  false: false,
}

const idOf = (i: number): string => String(i).padStart(26, '0')

/** A table of documents with nothing around it: what the query language runs on. */
export async function openDocuments(engine: Engine) {
  const db = await openDatabase(await engine.freshUrl(), {
    sqliteFunctions: [new URL('../../storage/sql/sqlite/functions.ts', import.meta.url)],
  })
  await db.write(sql`
    create table store_documents (
      collection text not null, id text not null,
      ${sql.either({
        sqlite: sql`doc blob not null, body text generated always as (json(doc)) virtual`,
        postgres: sql`body json not null, doc jsonb generated always as (body::jsonb) stored`,
      })},
      primary key (collection, id))`)
  // What the queries call; the tables of the other migrations are not needed.
  const migrations = await readMigrations('store', migrationsFolder, db.dialect)
  await db.migrate(migrations.filter(({ name }) => FUNCTIONS.test(name)))
  let collections = 0

  async function stored(collection: string, id: string): Promise<Json | undefined> {
    const row = await db.get<{ body: string }>(
      sql`select body from store_documents where collection = ${collection} and id = ${id}`,
    )
    return row && (JSON.parse(row.body) as Json)
  }

  return {
    db,
    close: () => db.close(),

    /** Makes a collection of these documents; the first is number 0. Answers its name. */
    async collection(documents: readonly Document[]): Promise<string> {
      const name = `c${collections++}`
      if (documents.length === 0) return name
      const rows = documents.map((document, i) => {
        return sql`(${name}, ${idOf(i)}, ${storedSql(JSON.stringify({ ...document, _id: idOf(i) }))})`
      })
      await db.write(
        sql`insert into store_documents (collection, id, ${storedColumn}) values ${sql.join(rows)}`,
      )
      return name
    },

    /** Numbers of the documents that match, lowest first. */
    async matching(collection: string, filter: unknown): Promise<number[]> {
      const { where } = parseList({ filter: JSON.stringify(filter) }, db.dialect)
      const rows = await db.all<{ id: string }>(
        sql`select d.id from store_documents d where d.collection = ${collection} and ${where} order by d.id`,
      )
      return rows.map(({ id }) => Number(id))
    },

    /** For each filter the numbers of the documents that match, in one statement. */
    async matchingEach(collection: string, filters: readonly unknown[]): Promise<number[][]> {
      const lists = filters.map((filter) => parseList({ filter: JSON.stringify(filter) }, db.dialect))
      const verdicts = lists.map(({ where }) => sql`coalesce(cast((${where}) as text), 'null')`)
      const rows = await db.all<{ id: string; verdicts: string }>(sql`
        select d.id, ${sql.join(verdicts, ` || ' ' || `)} as verdicts from store_documents d
        where d.collection = ${collection} order by d.id`)
      return filters.map((filter, i) =>
        rows.flatMap(({ id, verdicts }) => {
          const verdict = VERDICTS[verdicts.split(' ')[i]!]
          if (verdict === undefined) throw new Error(`${JSON.stringify(filter)} is neither true nor false`)
          return verdict ? [Number(id)] : []
        }),
      )
    },

    /** Numbers of the documents in the list's order, and the cursor behind the last one. */
    async page(
      collection: string,
      { cursor: text, ...parameters }: ListParameters & { readonly cursor?: string | undefined },
      limit = 1000,
    ) {
      const list = parseList(parameters, db.dialect)
      const name = collection + list.text
      const cursor = text === undefined ? undefined : decodeCursor(text, name, cursorKey)
      const position =
        cursor?.print === undefined
          ? cursor?.position
          : exactPosition(cursor, list.order, await stored(collection, cursor.position.id))
      const where = position === undefined ? list.where : whereAfterSql(list, position, db.dialect)
      const rows = await db
        .all<{ body: string }>(
          sql`select d.body from store_documents d
            where d.collection = ${collection} and ${where} order by ${list.orderBy} limit ${limit}`,
        )
        .catch((error: unknown) => {
          throw listFault(error, list.order)
        })
      const documents = rows.map(({ body }) => JSON.parse(body) as Document)
      const last = documents.at(-1)
      return {
        numbers: documents.map(({ _id }) => Number(_id)),
        cursor: last && encodeCursor(cursorBehind(last, list.order), name, cursorKey),
      }
    },
  }
}

export type Documents = Awaited<ReturnType<typeof openDocuments>>
