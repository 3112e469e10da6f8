import { sql, type Dialect, type Sql } from '../../../../../db/sql.ts'
import type { Index } from '../entries/index-definition.ts'
import { PLACES, type Word } from '../../language/search/words.ts'
import { jsonPath } from './sqlite/json.ts'
import { storedColumn } from './document-rows.ts'

/** The words of a document in an index. */
export type DocumentWords = { readonly indexId: number; readonly id: string; readonly words: readonly Word[] }

/** A document in an index. */
type SearchRow = Pick<DocumentWords, 'indexId' | 'id'>

/** A word as an engine keeps it: those of other indexes are other words. The dot is no letter, so no word has it. */
export const storedWord = (indexId: number, token: string): string => `${indexId.toString(36)}·${token}`

/** What stands between words that no phrase has side by side. */
const GAP = '·'

const inOrder = <R extends SearchRow>(rows: readonly R[]): R[] =>
  // In one order everywhere, so that two writers never wait for each other in a circle.
  rows.toSorted((a, b) => a.indexId - b.indexId || (a.id < b.id ? -1 : 1))

/** Inserts the words of documents, or replaces them. */
export const putWordsSql = (dialect: Dialect, documents: readonly DocumentWords[]): Sql[] => {
  if (documents.length === 0) return []
  const rows = inOrder(documents)
  if (dialect === 'sqlite')
    return [
      sql.forEach(
        'insert into store_search (index_id, id) values (?1, ?2) on conflict (index_id, id) do nothing',
        rows.map(({ indexId, id }) => [indexId, id]),
      ),
      sql.forEach(
        `insert or replace into store_search_words (rowid, place0, place1, place2, place3)
        values ((select place from store_search where index_id = ?1 and id = ?2), ?3, ?4, ?5, ?6)`,
        rows.map((row) => [row.indexId, row.id, ...columnsOf(row)]),
      ),
    ]
  const lines = JSON.stringify(rows.map((row) => ({ i: row.indexId, d: row.id, w: vectorOf(row) })))
  return [
    sql`
      insert into store_search (index_id, id, words)
      select i, d, cast(w as tsvector) from json_to_recordset(${lines}::json) as line (i bigint, d text, w text)
      where true
      on conflict (index_id, id) do update set words = excluded.words`,
  ]
}

/** The words of each place as FTS5 takes them. */
function columnsOf({ indexId, words }: DocumentWords): string[] {
  const columns = Array.from({ length: PLACES }, (): string[] => [])
  let last = 0
  for (const { token, position, place } of words) {
    const column = columns[place]!
    if (column.length > 0 && position > last + 1) column.push(GAP)
    column.push(storedWord(indexId, token))
    last = position
  }
  return columns.map((column) => column.join(' '))
}

/** The words with their positions and places as PostgreSQL takes them. A word holds nothing that must be escaped. */
function vectorOf({ indexId, words }: DocumentWords): string {
  const positions = new Map<string, string[]>()
  for (const { token, position, place } of words) {
    const at = `${position}${LABELS[place]}`
    const known = positions.get(token)
    if (known) known.push(at)
    else positions.set(token, [at])
  }
  return [...positions].map(([token, at]) => `'${storedWord(indexId, token)}':${at.join()}`).join(' ')
}

/** What PostgreSQL calls the places. */
export const LABELS = 'ABCD'

/** Deletes the words of documents. */
export const deleteWordsSql = (documents: readonly SearchRow[]): Sql[] => {
  if (documents.length === 0) return []
  const lines = JSON.stringify(inOrder(documents).map(({ indexId, id }) => ({ i: indexId, d: id })))
  return [
    sql`
      delete from store_search where (index_id, id) in (select i, d from ${sql.either({
        sqlite: sql`(select value ->> 'i' as i, value ->> 'd' as d from json_each(${lines}))`,
        postgres: sql`json_to_recordset(${lines}::json) as line (i bigint, d text)`,
      })})`,
  ]
}

/** Deletes some of an index's words. */
export const deleteSomeWordsSql = (indexId: number, limit: number): Sql<{ deleted: number }> => sql`
  delete from store_search where (index_id, id) in (
    select index_id, id from store_search where index_id = ${indexId} order by id limit ${limit})
  returning 1 as deleted`

/** Deletes the words of an index whose documents are gone. */
export const deleteOrphanWordsSql = ({ id, collection }: Pick<Index, 'id' | 'collection'>): Sql => sql`
  delete from store_search where index_id = ${id} and not exists (
    select 1 from store_documents d where d.collection = ${collection} and d.id = store_search.id)`

const isMissing = ({ id }: Index): Sql => sql`
  not exists (select 1 from store_search s where s.index_id = ${id} and s.id = d.id)`

/** Whether a document's words are not in its index; no row if all are. */
export const selectMissingSql = (index: Index): Sql<{ id: string }> => sql`
  select d.id from store_documents d
  where d.collection = ${index.collection} and ${sql.stoppable(isMissing(index))} limit 1`

/**
 * Some documents whose words are not in an index, behind an id and in order, each with the fields that the paths begin with. They
 * are locked; those that another transaction changes are passed over.
 */
export function lockMissingSql(
  index: Index,
  after: string,
  limit: number,
): Sql<{ id: string; document: string }> {
  const names = [...new Set(index.fields.map(({ path }) => path[0]!))]
  const members = (memberOf: (name: string) => Sql): Sql =>
    sql.join(names.map((name) => sql`cast(${name} as text), ${memberOf(name)}`))
  return sql`
    select d.id, ${sql.either({
      sqlite: sql`json_object(${members((name) => sql`d.${storedColumn} -> ${jsonPath([name])}`)})`,
      postgres: sql`cast(json_build_object(${members((name) => sql`d.body -> ${name}`)}) as text)`,
    })} as document
    from store_documents d
    where d.collection = ${index.collection} and d.id > ${after} and ${isMissing(index)}
    order by d.id limit ${limit} ${sql.either({ sqlite: sql``, postgres: sql`for share of d skip locked` })}`
}
