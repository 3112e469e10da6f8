import { PendingPromises } from '../../../../base/pending-promises.ts'
import { BoundedMap } from '../../../../base/bounded-map.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { ParsedList } from './parsed-list.ts'
import { serves, type NeededIndex } from './automatic-fields.ts'
import type { IndexBuilds } from '../storage/indexes/index-builds.ts'
import { namesOf } from '../storage/entries/entries.ts'
import {
  changeIndexes,
  dropUnusedSql,
  fieldsOf,
  indexOf,
  insertAutomaticSql,
  isStale,
  makeRoomSql,
  noteUseSql,
  requireIndex,
  selectIndexesSql,
  selectUnusedSql,
  type IndexRow,
} from '../storage/sql/index-rows.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many slow lists of a shape within an hour are a reason for an index. */
const SLOW_LISTS = 3
/** So much time that all lists of a shape took within a minute is one, too, however quick each is. */
const SCANNED_MS = 2_000
/** Lists that are quicker are not counted: they look into less than a thousand documents. */
const COUNTED_MS = 1
const SHAPES_MAX = 1_000
const INDEXES_MAX = 10_000
// An index is of no use to lists that find more of the documents, unless they are sorted.
const FOUND_SHARE = 1 / 5
/** A scan of fewer documents is slow for another reason. */
const DOCUMENTS_MIN = 1_000
const UNUSED_MS = 14 * DAY_MS
/** How long no room is looked for where there was none. */
const ROOM_MS = 10 * MINUTE_MS
// One that is used is noted once an hour, so this is one hour without use at least.
const REPLACEABLE_MS = 2 * HOUR_MS

/** When indexes are made that nobody has declared. */
export type AutomaticIndexOptions = { readonly slowMs: number; readonly max: number }

/** A list that looked into all documents in scope. */
export type ScannedList = {
  readonly collection: string
  readonly list: ParsedList
  /** Counts the documents in scope. */
  readonly countAll: () => Promise<number>
}

/** How long it took, in milliseconds, and how many documents it has on all its pages. */
export type ScanCost = { readonly ms: number; readonly total: number }

/** What lists of a shape have cost lately. */
type ShapeCost = {
  /** When lists were slow. */
  readonly slowAt: readonly number[]
  /** When the minute began in which the time is summed up. */
  readonly since: number
  readonly scannedMs: number
}

/**
 * Indexes that the server makes by itself, where lists of the same shape are slow again and again.
 *
 * @param options false: no indexes are made
 * @param isByOwner whether a user's lists of a collection are those of the user's own documents
 */
export function createAutomaticIndexes(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { builds, isByOwner }: { builds: IndexBuilds; isByOwner: (collection: string) => boolean },
  options: AutomaticIndexOptions | false,
) {
  // Of this process: an estimate is enough to begin with, and the row decides.
  const costs = new BoundedMap<string, ShapeCost>(SHAPES_MAX)
  const notedUses = new BoundedMap<number, number>(INDEXES_MAX)
  const withoutRoom = new BoundedMap<string, number>(SHAPES_MAX)
  const running = new PendingPromises()

  /** Lists do not wait for what is done because of them. */
  function inBackground(work: Promise<unknown>, failed: (error: unknown) => void): void {
    void running.add(work.catch(failed))
  }

  /** Why lists of this shape are a reason for an index, if they are, with this one. */
  function reasonOf(shape: string, ms: number, slowMs: number): string | undefined {
    const now = clock.now()
    const before = costs.get(shape)
    const isSameMinute = before !== undefined && before.since > now - MINUTE_MS
    const cost: ShapeCost = {
      slowAt: [
        ...(before?.slowAt ?? []).filter((time) => time > now - HOUR_MS),
        ...(ms < slowMs ? [] : [now]),
      ],
      since: isSameMinute ? before.since : now,
      scannedMs: (isSameMinute ? before.scannedMs : 0) + ms,
    }
    costs.delete(shape)
    if (cost.slowAt.length >= SLOW_LISTS)
      return `${SLOW_LISTS} lists within an hour took ${slowMs} ms or longer without it`
    if (cost.scannedMs >= SCANNED_MS) return `lists without it took ${SCANNED_MS / 1000} s within a minute`
    costs.set(shape, cost)
    return undefined
  }

  /** Adds the index that lists of this shape need, unless it would not help this one, or there is one, or no room. */
  async function addIndex(
    { collection, countAll }: ScannedList,
    needed: NeededIndex,
    total: number,
    max: number,
    reason: string,
  ): Promise<void> {
    const all = await countAll()
    if (all < DOCUMENTS_MIN || (!needed.sorts && total > all * FOUND_SHARE)) return
    const about = { collection, fields: needed.names }
    const shape = `${collection} ${needed.names}`
    // To ask for room holds up all writes for a moment.
    if (clock.now() - (withoutRoom.get(shape) ?? -Infinity) < ROOM_MS) return
    const rows = await db.all(selectIndexesSql(collection))
    if (rows.some((row) => serves(indexOf(row), needed))) return

    const now = clock.now()
    try {
      const [replaced] = await changeIndexes(db, collection, [
        makeRoomSql(collection, max, now - REPLACEABLE_MS),
        requireIndex(
          insertAutomaticSql(
            {
              collection,
              fields: needed.fields,
              isSparse: false,
              ignoreCase: false,
              isUnique: false,
              byOwner: isByOwner(collection),
              isSearch: false,
            },
            max,
            now,
          ),
        ),
        builds.kind.enqueueSql({ collection }),
      ])
      for (const row of replaced as Pick<IndexRow, 'fields'>[])
        log.info(
          { collection, fields: namesOf(fieldsOf(row)) },
          'an automatic index is dropped: it makes room',
        )
      log.info(about, `an index is added: ${reason}`)
    } catch (error) {
      if (!isStale(error)) throw error
      // Or another replica was faster, which has said so.
      if (!withoutRoom.has(shape))
        log.info({ ...about, max }, 'lists are slow without an index, but there is no room for another one')
      withoutRoom.set(shape, now)
    }
  }

  async function dropUnused(): Promise<void> {
    const before = clock.now() - UNUSED_MS
    for (const { id, collection, fields } of await db.all(selectUnusedSql(before)))
      try {
        await changeIndexes(db, collection, [
          requireIndex(dropUnusedSql(id, before)),
          builds.kind.enqueueSql({ collection }),
        ])
        log.info(
          { collection, fields: namesOf(fieldsOf({ fields })) },
          'an automatic index is dropped: no list has used it for 14 days',
        )
      } catch (error) {
        if (!isStale(error)) throw error
      }
  }
  jobs.every('store.unused-indexes', DAY_MS, dropUnused)

  return {
    /** Takes notice of a list that no index served. */
    observe(scanned: ScannedList, { ms, total }: ScanCost): void {
      const { collection, list } = scanned
      if (options === false || ms < Math.min(options.slowMs, COUNTED_MS)) return
      for (const needed of list.needed()) {
        const reason = reasonOf(`${collection} ${needed.names}`, ms, options.slowMs)
        if (reason === undefined) continue
        inBackground(addIndex(scanned, needed, total, options.max, reason), (error) =>
          log.warn({ err: error, collection }, 'an index that lists need could not be added'),
        )
      }
    },

    /** Takes notice of a list that was answered from an index. */
    used(indexId: number): void {
      const now = clock.now()
      if (now - (notedUses.get(indexId) ?? -Infinity) < HOUR_MS) return
      notedUses.set(indexId, now)
      inBackground(db.write(noteUseSql(indexId, now, now - HOUR_MS)), (error) =>
        log.warn({ err: error, index: indexId }, 'the use of an index could not be noted'),
      )
    },

    /** Resolves when nothing is being done because of what was noticed. */
    idle: (): Promise<void> => running.idle(),
  }
}

export type AutomaticIndexes = ReturnType<typeof createAutomaticIndexes>
