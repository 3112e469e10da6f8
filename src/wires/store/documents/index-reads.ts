import { sql, type Sql } from '../../../db/sql.ts'
import { readPage, SHORT_LIMIT, SHORT_OFFSET, type Found, type PageRows } from './page-rows.ts'
import {
  entriesSql,
  firstSql,
  isReadySql,
  orderSql,
  type EntriesSql,
  type OrderSql,
} from './plan/entries-sql.ts'
import type { Plan } from './plan/plan.ts'
import { effortOf, effortOfSort } from './query/effort.ts'
import { scanReads, whereAfter, type PageSource } from './scan-reads.ts'

/** Entries that are counted where it stalls nobody else. */
const FEW_ENTRIES = 1000
/** Documents that are looked into, likewise. */
const FEW_DOCUMENTS = 100
/** How many bytes they may have together, divided by what is asked of each. */
const FEW_BYTES = 131_072
// To find a document by its id takes so many times as long as to look into the next one.
const LOOKUP_COST = 8

type Run = <R>(query: Sql<R>) => Promise<R[]>

/** What a list has cost: how many entries were looked at, and documents, those of the page among them. */
export type Examined = { readonly entries: number; readonly documents: number }

/** A list, and how it was read. */
export type IndexRead = {
  readonly total: number
  readonly found: Found[]
  /** Whether the entries were in the list's order. */
  readonly order: 'index' | 'sorted'
  readonly examined: Examined
}

/**
 * Reads a list from the entries of an index.
 *
 * @param owner the owner of all documents of the list, if it is one
 * @returns 'outdated' if the index is not as the plan took it any more, 'wide' if a scan is better
 */
export async function indexReads(
  source: PageSource,
  plan: Plan,
  owner: string | undefined,
): Promise<IndexRead | 'outdated' | 'wide'> {
  const reader = new IndexReader(source, plan, owner)
  const answer = await reader.read()
  // What an index that was dropped meanwhile led to is nothing at all.
  if (answer !== 'wide' && (answer.total === 0 || answer.found.length === 0) && !(await reader.isReady()))
    return 'outdated'
  return answer
}

class IndexReader {
  readonly #source: PageSource
  readonly #plan: Plan
  readonly #entries: EntriesSql
  /** The same for statements that read few of them. */
  readonly #few: EntriesSql
  readonly #order: OrderSql | undefined
  readonly #scan: Run
  readonly #all: Run

  constructor(source: PageSource, plan: Plan, owner: string | undefined) {
    this.#source = source
    this.#plan = plan
    this.#entries = entriesSql(plan, owner, false)
    this.#few = entriesSql(plan, owner, true)
    const { db, query, options } = source
    this.#order = plan.order && orderSql(plan.order, query.position)
    const refused = (error: unknown): never => {
      throw query.faultOf(error)
    }
    this.#scan = (statement) => db.scan(statement, options).catch(refused)
    this.#all = (statement) => db.all(statement).catch(refused)
  }

  async isReady(): Promise<boolean> {
    const [row] = await this.#all(sql`select 1 as ready where ${isReadySql(this.#plan.index)}`)
    return row !== undefined
  }

  async read(): Promise<IndexRead | 'wide'> {
    if (!this.#plan.isExact) return this.#readByDocuments()
    if (this.#order) {
      const [total, found] = await Promise.all([this.#countMatching(), this.#readInOrder(this.#order)])
      const entries = (this.#isCounted ? total : 0) + found.length + this.#source.offset
      return { total, found, order: 'index', examined: { entries, documents: found.length } }
    }
    const total = await this.#countMatching()
    if (this.#source.query.order.keys.length > 0) return this.#readByDocuments(total)
    const found = await this.#readById(total)
    const entries = this.#isCounted ? 2 * total : total
    return { total, found, order: 'sorted', examined: { entries, documents: found.length } }
  }

  /** Whether the total has to be counted. */
  get #isCounted(): boolean {
    const { query } = this.#source
    return query.filtered && query.total === undefined
  }

  /** How many documents match, where the entries tell it. */
  async #countMatching(): Promise<number> {
    const { query, countAll } = this.#source
    if (!query.filtered) return countAll()
    if (query.total !== undefined) return query.total
    const { from, where } = this.#few
    const documents = sql.literal(this.#plan.hasRepeats ? 'distinct id' : '*')
    const [row] = await this.#all(sql<{ entries: number; documents: number }>`
      select count(*) as entries, count(${documents}) as documents from (
        select e.id from ${from} where ${where} limit ${sql.literal(String(FEW_ENTRIES + 1))}
      ) as found`)
    return row!.entries <= FEW_ENTRIES ? row!.documents : this.#count()
  }

  /** Counts the documents that have entries, no further than one beyond a limit. */
  async #count(limit?: number): Promise<number> {
    const { from, where } = this.#entries
    const columns = sql.literal(this.#plan.hasRepeats ? 'distinct e.id' : '1 as entry')
    const limited = limit === undefined ? sql`` : sql`limit ${limit + 1}`
    const [row] = await this.#scan(sql<{ total: number }>`
      select count(*) as total from (select ${columns} from ${from} where ${where} ${limited}) as found`)
    return row!.total
  }

  /** The page where all documents match that the entries lead to, in their order. */
  #readInOrder({ by, after, sortsIds }: OrderSql): Promise<Found[]> {
    const order = by(sql`e`)
    const { limit, offset } = this.#source
    // Between those that count there may be any number of other entries of their documents.
    const isNext = !sortsIds && !this.#plan.hasRepeats
    const isQuick = isNext && limit <= SHORT_LIMIT && offset <= SHORT_OFFSET
    return this.#readEntries(
      ({ from, where }) => sql`select e.key, e.id from ${from} where ${where} ${after}`,
      order,
      isQuick,
    )
  }

  /** Likewise in the order of ids. */
  #readById(total: number): Promise<Found[]> {
    const { order, position } = this.#source.query
    const [toward, beyond] = (order.idDescending ? ['desc', '<'] : ['asc', '>']).map((one) =>
      sql.literal(one),
    )
    const after = position ? sql`and e.id ${beyond!} ${position.id}` : sql``
    const columns = sql.literal(this.#plan.hasRepeats ? 'distinct e.id' : 'e.id')
    const orderBy = sql`e.id ${toward!}`
    return this.#readEntries(
      ({ from, where }) => sql`select ${columns} from ${from} where ${where} ${after}`,
      orderBy,
      total <= FEW_ENTRIES && !this.#plan.hasRepeats,
    )
  }

  /** @param entriesIn rows `e` of the entries that lead to the list */
  #readEntries(entriesIn: (entries: EntriesSql) => Sql, orderBy: Sql, isQuick: boolean): Promise<Found[]> {
    const { limit, offset } = this.#source
    const isFirst = isQuick && limit <= SHORT_LIMIT && offset === 0
    const entries = isFirst
      ? firstSql(entriesIn(this.#few), orderBy, limit + 1, SHORT_LIMIT + 1)
      : sql`${entriesIn(this.#entries)} order by ${orderBy} ${this.#limited}`
    return this.#page(
      { from: sql`(${entries}) as e`, orderBy, limited: sql`` },
      isQuick ? this.#all : this.#scan,
    )
  }

  /**
   * Where the documents must be looked into, to match or to sort them.
   *
   * @param known how many match
   */
  async #readByDocuments(known?: number): Promise<IndexRead | 'wide'> {
    const { query, countAll, limit: shown } = this.#source
    // Where enough of all documents match, the page is found soon, wherever the cursor is.
    if (this.#order && query.total !== undefined && query.total > LOOKUP_COST * (shown + 1)) {
      const found = await this.#readDocuments(this.#scan)
      const examined = { entries: found.length, documents: found.length }
      return { total: query.total, found, order: 'index', examined }
    }
    const few = await this.#countFew()
    const limit = few === undefined ? Math.floor((await countAll()) / LOOKUP_COST) : FEW_DOCUMENTS
    const entries = few ?? (await this.#count(limit))
    if (entries > limit) return known === undefined ? 'wide' : this.#readByScan(known)
    const run = few === undefined ? this.#scan : this.#all
    const total = known ?? query.total
    const [counted, found] = await Promise.all([total ?? this.#countDocuments(run), this.#readDocuments(run)])
    const passes = total === undefined ? 2 : 1
    return {
      total: counted,
      found,
      order: this.#order ? 'index' : 'sorted',
      examined: { entries: entries * (passes + 1), documents: entries * passes },
    }
  }

  /** Where there are too many documents to sort them one by one. */
  async #readByScan(total: number): Promise<IndexRead> {
    const source = this.#source
    const scanned = await scanReads({ ...source, query: { ...source.query, total } })()
    return { ...scanned, order: 'sorted', examined: { entries: total, documents: await source.countAll() } }
  }

  /** How many entries there are, if they lead to few documents, which are no great effort together either. */
  async #countFew(): Promise<number | undefined> {
    const { collection, query } = this.#source
    const { from, where } = this.#few
    const [row] = await this.#all(sql<{ entries: number; bytes: number }>`
      select count(*) as entries, cast(coalesce(sum(bytes), 0) as bigint) as bytes from (
        select (select d.bytes from store_documents d where d.collection = ${collection} and d.id = e.id) as bytes
        from ${from} where ${where} limit ${sql.literal(String(FEW_DOCUMENTS + 1))}
      ) as found`)
    const { entries, bytes } = row!
    const effort = Math.max(1, effortOf(query.filter) + (this.#order ? 0 : effortOfSort(query.order)))
    return entries <= FEW_DOCUMENTS && bytes <= FEW_BYTES / effort ? entries : undefined
  }

  async #countDocuments(run: Run): Promise<number> {
    const { query } = this.#source
    const { from, where } = this.#documentsOf(this.#candidates)
    const count = sql<{ total: number }>`
      select count(*) as total from ${from} where ${where} and ${sql.stoppable(query.where)}`
    const [row] = await run(sql.once(count))
    return row!.total
  }

  async #readDocuments(run: Run): Promise<Found[]> {
    const { query } = this.#source
    if (!this.#order) {
      const matches = await whereAfter(this.#source)
      return this.#page(
        { from: this.#candidates, orderBy: query.orderBy, limited: this.#limited, matches },
        run,
      )
    }
    const { from, where } = this.#entries
    const { by, after } = this.#order
    const candidates = sql`(select e.key, e.id from ${from} where ${where} ${after}) as e`
    return this.#page(
      { from: candidates, orderBy: by(sql`e`), limited: this.#limited, matches: query.where },
      run,
    )
  }

  /** The documents that the entries lead to, each once. */
  get #candidates(): Sql {
    const { from, where } = this.#entries
    const columns = sql.literal(this.#plan.hasRepeats ? 'distinct e.id' : 'e.id')
    return sql`(select ${columns} from ${from} where ${where}) as e`
  }

  get #limited(): Sql {
    const { limit, offset } = this.#source
    return sql`limit ${limit + 1} offset ${offset}`
  }

  /** The documents of entries, each found by its id: PostgreSQL's planner would read all where it takes the entries for many. */
  #documentsOf(entries: Sql): Pick<PageRows, 'from' | 'where'> {
    const ofEntry = sql`${this.#source.inReach} and d.id = e.id`
    const found = sql.either({
      sqlite: sql`store_documents d`,
      postgres: sql`lateral (
        select d.id, d.bytes, d.doc, d.body from store_documents d where ${ofEntry} offset 0) as d`,
    })
    return {
      from: sql`${entries} cross join ${found}`,
      where: sql`${sql.either({ sqlite: ofEntry, postgres: sql`true` })}`,
    }
  }

  #page(
    { from: entries, matches, ...rest }: { matches?: Sql } & Pick<PageRows, 'from' | 'orderBy' | 'limited'>,
    run: Run,
  ): Promise<Found[]> {
    const { collection, limit, makeRoom } = this.#source
    const { from, where } = this.#documentsOf(entries)
    const matching = matches ? sql`${where} and ${sql.stoppable(matches)}` : where
    const page = { ...rest, collection, limit, makeRoom, from, where: matching }
    return readPage(page, matches ? (query) => run(sql.once(query)) : run, this.#scan)
  }
}
