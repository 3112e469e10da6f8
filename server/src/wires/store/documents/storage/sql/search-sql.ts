import { sql, type Sql } from '../../../../../db/sql.ts'
import type { Index } from '../entries/index-definition.ts'
import { weightOf, type SearchQuery, type Term } from '../../language/search/search-query.ts'
import { PLACES } from '../../language/search/words.ts'
import { LABELS, storedWord } from './search-rows.ts'

/** The fields that searches look into, and what they look for. */
export type SearchOf = { readonly index: Index; readonly query: SearchQuery }

/**
 * The documents that a search finds: rows with `id` and `score`.
 *
 * @param among rows `o` with `id`: which documents may be found at all, if that is known and they are fewer
 */
export const hitsSql = (search: SearchOf, among?: Sql): Sql =>
  sql`${sql.either({ sqlite: sqliteHits(search, among), postgres: postgresHits(search, among) })}`

/** Yields nothing if the index is not complete, or not kept up any more. */
export const isSearchable = ({ id }: Index): Sql => sql`
  exists (select 1 from store_indexes i where i.id = ${id} and i.state = 'ready')`

/** Counts the documents that a search finds, no further than one beyond a limit. */
export const countHitsSql = (search: SearchOf, limit: number): Sql<{ hits: number }> => sql`
  select count(*) as hits from (select id from (${hitsSql(search)}) as found limit ${limit + 1}) as counted`

/** Calls `write` for each place that a term counts for by itself: those but the last, for which all others count. */
function scoreSql({ index, query }: SearchOf, isIn: (term: Term, place: number) => Sql): Sql {
  const last = Math.min(index.fields.length, PLACES) - 1
  const places = Array.from({ length: last }, (_, place) => place)
  const terms = query.wanted.map((term) => {
    const cases = places.map(
      (place) => sql`when ${isIn(term, place)} then ${sql.literal(String(weightOf(place)))}`,
    )
    const rest = sql.literal(String(weightOf(last)))
    return cases.length === 0 ? rest : sql`case ${sql.join(cases, ' ')} else ${rest} end`
  })
  return terms.length === 0 ? sql.literal('0') : sql.join(terms, ' + ')
}

/* SQLite's FTS5. https://sqlite.org/fts5.html#full_text_query_syntax */

function sqliteHits(search: SearchOf, among: Sql | undefined): Sql {
  const { index, query } = search
  const any = ofAny(index, query.unwanted)
  const all = query.wanted.map((term) => fts5Of(index, term)).join(' AND ')
  const wanted = query.unwanted.length > 0 ? `(${all}) NOT (${any})` : all
  const placesOf = (expression: string): Sql => sql`
    (select rowid from store_search_words where store_search_words match ${expression})`
  const score = scoreSql(search, (term, place) => {
    const expression = `({place${place}} : ${fts5Of(index, term)}) AND (${wanted})`
    return sql`s.place in ${placesOf(expression)}`
  })
  const columns = sql`s.id, ${score} as score`
  const ready = sql`s.index_id = ${index.id} and ${isSearchable(index)}`
  // Without anything that must be there, all documents but those are found.
  const isHit =
    query.wanted.length > 0 ? sql`s.place in ${placesOf(wanted)}` : sql`s.place not in ${placesOf(any)}`
  if (among)
    return sql`
      select ${columns} from (${among}) as o cross join store_search s
      where s.id = o.id and ${ready} and ${sql.stoppable(isHit)}`
  if (query.wanted.length === 0)
    return sql`select ${columns} from store_search s where ${ready} and ${sql.stoppable(isHit)}`
  return sql`
    select ${columns} from store_search_words w cross join store_search s
    where w.store_search_words match ${wanted} and s.place = w.rowid and ${ready} and ${sql.stoppable(sql`true`)}`
}

const ofAny = (index: Index, terms: readonly Term[]): string =>
  terms.map((term) => fts5Of(index, term)).join(' OR ')

/** A word consists of letters, digits and marks, so there is no quote in it. */
const fts5Of = ({ id }: Index, { tokens, isPrefix }: Term): string =>
  `"${tokens.map((token) => storedWord(id, token)).join(' ')}"${isPrefix ? ' *' : ''}`

/* PostgreSQL's tsquery. https://www.postgresql.org/docs/current/datatype-textsearch.html#DATATYPE-TSQUERY */

function postgresHits(search: SearchOf, among: Sql | undefined): Sql {
  const { index, query } = search
  const without = query.unwanted.map((term) => `!(${tsqueryOf(index, term)})`)
  const expression = [...query.wanted.map((term) => tsqueryOf(index, term)), ...without].join(' & ')
  const asks = (text: string): Sql => sql`s.words @@ cast(${text} as tsquery)`
  const score = scoreSql(search, (term, place) => asks(tsqueryOf(index, term, LABELS[place])))
  const isHit = asks(expression)
  const ready = isSearchable(index)
  // Its words lead to no other index: with this condition, too, PostgreSQL would read all of the index it is about.
  const inIndex = query.wanted.length > 0 ? sql`true` : sql`s.index_id = ${index.id}`
  if (!among)
    return sql`select s.id, ${score} as score from store_search s where ${isHit} and ${inIndex} and ${ready}`
  return sql`
    select s.id, ${score} as score from (${among}) as o cross join lateral (
      select s.id, s.words from store_search s where s.index_id = ${index.id} and s.id = o.id and ${isHit} offset 0) as s
    where ${ready}`
}

/** @param label of the only place that counts */
const tsqueryOf = ({ id }: Index, { tokens, isPrefix }: Term, label = ''): string =>
  tokens
    .map((token, i) => {
      const flags = `${isPrefix && i === tokens.length - 1 ? '*' : ''}${label}`
      return `'${storedWord(id, token)}'${flags === '' ? '' : `:${flags}`}`
    })
    .join(' <-> ')
