import { BoundedMap } from '../../../base/bounded-map.ts'
import { createKeyedMutex } from '../../../base/keyed-mutex.ts'
import type { Database, ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'

// A few milliseconds of work. Small, because Node keeps what a statement passes to functions until it ends.
const PART_DOCUMENTS = 10_000
const PART_BYTES = 4_194_304
// Fewer are read at once, without knowing how large they are.
const FEW_DOCUMENTS = 4
// After some time documents may have become larger.
const MADE_ANEW_MS = 600_000
const COLLECTIONS_KEPT = 1000
const LISTS_WAITING = 1000
// Above this share of a collection, to find an owner's documents by their index costs more than to pass over the others.
const OWNER_SHARE = 0.4

const byKey = sql`store_documents d ${sql.either({ sqlite: sql`not indexed`, postgres: sql`` })}`

/** By owner. SQLite would choose the primary key and read the documents of all. */
export const byOwner = sql`store_documents d ${sql.either({ sqlite: sql`indexed by store_documents_owner`, postgres: sql`` })}`

/** A range of ids; undefined where it has no end. */
export type Part = { readonly after: string | undefined; readonly to: string | undefined }

/** Parts of what a list is of, in the order of ids, and what stands behind `from` to read them. */
export type Partition = { readonly from: Sql; readonly parts: readonly Part[] }

type Boundaries = {
  readonly ends: readonly string[]
  /** How many documents there were when they were last added to, and when they were made anew. */
  readonly documents: number
  readonly documentsAtFirst: number
  readonly madeAt: number
}

/** The condition of row `d` that it is in the part. */
export const isIn = ({ after, to }: Part): Sql =>
  sql`d.id > ${after ?? ''}${to === undefined ? sql`` : sql` and d.id <= ${to}`}`

const between = (ends: readonly string[]): Part[] =>
  [...ends, undefined].map((to, i) => ({ after: ends[i - 1], to }))

const isOfUse = ({ documentsAtFirst, madeAt }: Boundaries, documents: number, now: number): boolean =>
  documents <= documentsAtFirst * 2 && documents >= documentsAtFirst / 2 && now - madeAt < MADE_ANEW_MS

/**
 * Divides collections into parts for scans on SQLite. Where they begin is only a matter of speed, so it is remembered, and
 * what is written meanwhile does not matter.
 *
 * @param count how many documents of a collection there are, or of an owner in it
 */
export function createParts(
  db: Database,
  count: (collection: string, owner: string | undefined) => Promise<number>,
) {
  const kept = new BoundedMap<string, Boundaries>(COLLECTIONS_KEPT)
  const mutex = createKeyedMutex({ queue: LISTS_WAITING, retryAfter: 1 })

  async function addTo(
    { ends: known, ...rest }: Boundaries,
    from: Sql,
    inReach: Sql,
    options: ScanOptions,
  ): Promise<Boundaries> {
    const ends = [...known]
    for (let step = PART_DOCUMENTS; ;) {
      const [row] = await db.scan<{ last: string; documents: number; bytes: number }>(
        sql`
          select max(id) as last, count(*) as documents, coalesce(sum(bytes), 0) as bytes
          from (select d.id, d.bytes from ${from} where ${inReach} and d.id > ${ends.at(-1) ?? ''} order by d.id limit ${step})`,
        options,
      )
      const { last, documents, bytes } = row!
      const fitting = Math.max(1, Math.floor((documents * PART_BYTES) / Math.max(bytes, 1)))
      const isTooLarge = bytes > 2 * PART_BYTES && documents > 1
      if (!isTooLarge) {
        if (documents < step) return { ends, ...rest }
        ends.push(last)
      }
      step = Math.min(fitting, PART_DOCUMENTS)
    }
  }

  return async function partsOf(
    collection: string,
    owner: string | undefined,
    options: ScanOptions,
  ): Promise<Partition> {
    const [all, own] = await Promise.all([
      count(collection, undefined),
      owner === undefined ? undefined : count(collection, owner),
    ])
    const isByOwner = own !== undefined && own < all * OWNER_SHARE
    const from = isByOwner ? byOwner : byKey
    const documents = isByOwner ? own : all
    if (documents <= FEW_DOCUMENTS) return { from, parts: between([]) }

    const key = isByOwner ? `${collection} ${owner}` : collection
    const inReach = isByOwner
      ? sql`d.collection = ${collection} and d.owner = ${owner!}`
      : sql`d.collection = ${collection}`
    async function boundariesNow(): Promise<Boundaries> {
      const now = performance.now()
      const known = kept.get(key)
      const begun =
        known && isOfUse(known, documents, now)
          ? known
          : { ends: [], documents: 0, documentsAtFirst: documents, madeAt: now }
      if (documents - begun.documents < Math.min(PART_DOCUMENTS / 4, begun.documentsAtFirst)) return begun
      const boundaries = await addTo({ ...begun, documents }, from, inReach, options)
      kept.set(key, boundaries)
      return boundaries
    }
    // Lists of one caller wait for each other; those of another one would wait for its turn in the queue, too.
    const { ends } = await mutex.run(`${options.caller} ${key}`, boundariesNow)
    return { from, parts: between(ends) }
  }
}

export type Parts = ReturnType<typeof createParts>
