import type { ScanOptions } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { PAGE_BYTES, type Found } from './page-rows.ts'
import { isById, type PageSource } from './page-source.ts'
import { isIn, type Part, type Partition } from './parts.ts'

// As many places as a caller has: see db/scan-queue.ts.
const LANES = 2
// Rows of all parts together that are merged to a page. Beyond that one statement finds it.
const MERGED_MAX = 50_000
const TRIES = 3

/** A document that may be on the page. */
type Candidate = { id: string; version: number; bytes: number }

type Scan = <R>(statement: Sql<R>) => Promise<R[]>

type PartSource = PageSource & {
  readonly partition: Partition
  /** The filter, and only what comes after the cursor. */
  readonly after: Sql
  /** See `sql.stoppable`. */
  readonly unless: Sql
  /** A scan that counts towards the time of others. */
  readonly scanIn: (spent: ScanOptions['spent']) => Scan
}

/**
 * Reads a list in parts, two parts at a time. The parts are read at different moments. A document always belongs to the same
 * part: it is never counted twice, and it is not missed if it exists during the whole read. A document that is created,
 * deleted or changed during the read is counted as before or after that write. The documents of the page must be
 * unchanged at the end of the read, because without the last of them the next page would begin at the wrong place.
 *
 * @returns `found` is undefined if that takes other means: the page is deep, or its documents keep changing
 */
export async function readParts(source: PartSource): Promise<{ total: number; found?: Found[] }> {
  const { query, limit, offset, partition } = source
  const needed = offset + limit + 1
  const isDeep = (isById(query) ? needed : partition.parts.length * needed) > MERGED_MAX
  // All tries together are one query with its limit of time.
  const lanes = Array.from({ length: LANES }, () => source.scanIn({ ms: 0 }))
  let total = query.filtered ? query.total : await source.countAll()
  if (isDeep) return { total: total ?? (await examine(source, lanes, { needed: 0, counts: true })).total }
  for (let tried = 0; tried < TRIES; tried++) {
    const examined = await examine(source, lanes, { needed, counts: total === undefined })
    total ??= examined.total
    const found = await pageOf(source, lanes[0]!, examined.candidates)
    if (found) return { total: Math.max(total, found.length > 0 ? offset + found.length : 0), found }
  }
  return { total: total! }
}

/**
 * Looks into the parts for the first documents of the list, and counts it. A part that has fewer than needed is counted by
 * that; in the order of ids, one behind enough of them is counted only.
 *
 * @param asked.needed how many documents there are up to the end of the page
 */
async function examine(
  source: PartSource,
  lanes: readonly Scan[],
  { needed, counts }: { needed: number; counts: boolean },
): Promise<{ total: number; candidates: Candidate[][] }> {
  const { query, inReach, partition, after, unless } = source
  const { from } = partition
  const { idDescending } = query.order
  const parts = idDescending ? partition.parts.toReversed() : partition.parts
  const candidates: Candidate[][] = parts.map(() => [])
  let total = 0
  // Not `total += await …`, which would read it before the other lane adds to it.
  const add = (documents: number): void => void (total += documents)

  async function count(scan: Scan, part: Part, beyond = sql``): Promise<number> {
    const [row] = await scan(sql<{ total: number }>`
      select count(*) as total from ${from}
      where ${inReach} and ${isIn(part)}${beyond} and ${sql.stoppable(query.where, unless)}`)
    return row!.total
  }

  const isFull = (before: number): boolean =>
    isById(query) && candidates.slice(0, before).reduce((sum, { length }) => sum + length, 0) >= needed

  async function lookInto(scan: Scan, part: Part, i: number): Promise<void> {
    if (isFull(i)) {
      if (counts) add(await count(scan, part))
      return
    }
    const first = await scan(sql<Candidate>`
      select d.id, d.version, d.bytes from ${from}
      where ${inReach} and ${isIn(part)} and ${sql.stoppable(after, unless)}
      order by ${query.orderBy} limit ${needed}`)
    candidates[i] = first
    if (!counts) return
    if (first.length < needed) add(first.length)
    else if (!isById(query)) add(await count(scan, part))
    else {
      const { id } = first.at(-1)!
      const beyond = idDescending ? sql` and d.id < ${id}` : sql` and d.id > ${id}`
      add(first.length + (await count(scan, part, beyond)))
    }
  }

  let next = 0
  async function lookIntoAll(scan: Scan): Promise<void> {
    try {
      while (next < parts.length) {
        const i = next++
        await lookInto(scan, parts[i]!, i)
      }
    } finally {
      // If this one failed, so does the list.
      next = parts.length
    }
  }
  await Promise.all(lanes.map(lookIntoAll))
  return { total, candidates }
}

/** The documents of the page as they are now; undefined if one of the candidates has changed. */
async function pageOf(source: PartSource, scan: Scan, found: Candidate[][]): Promise<Found[] | undefined> {
  const { query, limit, offset } = source
  let candidates = found.flat()
  if (!isById(query) && found.filter(({ length }) => length > 0).length > 1) {
    const sorted = await scan<Candidate>(sql`
      select d.id, d.version, d.bytes from store_documents d
      where ${isOneOf(source, candidates)} order by ${query.orderBy}`)
    if (!isSame(candidates, sorted)) return undefined
    candidates = sorted
  }
  const page = candidates.slice(offset, offset + limit + 1)
  let bytes = 0
  const shown = page.filter((one, i) => (bytes += one.bytes) <= PAGE_BYTES || i === 0)
  if (shown.length === 0) return []
  const documents = await scan<Candidate & Found>(sql`
    select d.id, d.version, d.bytes, d.body from store_documents d where ${isOneOf(source, shown)}`)
  if (!isSame(shown, documents)) return undefined
  const bodies = new Map(documents.map(({ id, body }) => [id, body]))
  return shown.map(({ id }) => ({ id, body: bodies.get(id)!, fetched: page.length }))
}

const isOneOf = ({ collection }: PageSource, candidates: readonly Candidate[]): Sql =>
  sql`d.collection = ${collection}
    and d.id in (select value from json_each(${JSON.stringify(candidates.map(({ id }) => id))}))`

function isSame(candidates: readonly Candidate[], now: readonly Candidate[]): boolean {
  const versions = new Map(now.map(({ id, version }) => [id, version]))
  return candidates.every(({ id, version }) => versions.get(id) === version)
}
