import { PendingPromises } from '../../../../base/pending-promises.ts'
import { BoundedMap } from '../../../../base/bounded-map.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { parseJson } from '../../../../base/json.ts'
import { requireRow } from '../../../../db/database.ts'
import type { WireContext } from '../../../../kernel/wire.ts'
import type { FilterTree } from '../query/filter.ts'
import type { Sort } from '../query/sort.ts'
import { fieldsOf, neededFields, serves, type NeededFields } from './automatic-fields.ts'
import {
  dropUnusedSql,
  insertAutomaticSql,
  makeRoomSql,
  noteUseSql,
  selectOfCollectionSql,
  selectUnusedSql,
} from './automatic-rows.ts'
import type { IndexBuilds } from './build.ts'
import { namesOf, type IndexField } from './entries.ts'
import { changeIndexes, type IndexRow } from './index-rows.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So many slow lists of a shape within an hour are a reason for an index. */
const SLOW_LISTS = 3
const SHAPES_MAX = 1_000
const INDEXES_MAX = 10_000
// An index is of no use to lists that find more of the documents, unless they are sorted.
const FOUND_SHARE = 1 / 5
/** A scan of fewer documents is slow for another reason. */
const DOCUMENTS_MIN = 1_000
const UNUSED_MS = 14 * DAY_MS
// One that is used is noted once an hour, so this is one hour without use at least.
const REPLACEABLE_MS = 2 * HOUR_MS

/** When indexes are made that nobody has declared. */
export type AutomaticIndexOptions = { readonly slowMs: number; readonly max: number }

/** A list that looked into all documents in reach. */
export type ScannedList = {
  readonly collection: string
  readonly filter: FilterTree
  readonly order: Sort
  /** How long it took, in milliseconds. */
  readonly ms: number
  /** How many documents it has on all its pages. */
  readonly total: number
  /** Counts the documents in reach. */
  readonly countAll: () => Promise<number>
}

/** Indexes that the server makes by itself, where lists of the same shape are slow again and again. */
export type AutomaticIndexes = {
  /** Takes notice of a list that no index served. */
  observe(list: ScannedList): void
  /** Takes notice of a list that was answered from an index. */
  used(indexId: number): void
  /** Resolves when nothing is being done because of what was noticed. */
  idle(): Promise<void>
}

/**
 * @param options false: no indexes are made
 * @param isByOwner whether a user's lists of a collection are those of the user's own documents
 */
export function createAutomaticIndexes(
  { db, clock, jobs, log }: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  builds: IndexBuilds,
  options: AutomaticIndexOptions | false,
  isByOwner: (collection: string) => boolean,
): AutomaticIndexes {
  // Of this process: an estimate is enough to begin with, and the row decides.
  const slowLists = new BoundedMap<string, number[]>(SHAPES_MAX)
  const notedUses = new BoundedMap<number, number>(INDEXES_MAX)
  const withoutRoom = new BoundedMap<string, true>(SHAPES_MAX)
  const running = new PendingPromises()

  /** Lists do not wait for what is done because of them. */
  function inBackground(work: Promise<unknown>, failed: (error: unknown) => void): void {
    void running.add(work.catch(failed))
  }

  /** Whether this is one slow list too many of its shape. */
  function isReason(shape: string): boolean {
    const now = clock.now()
    const times = [...(slowLists.get(shape) ?? []).filter((time) => time > now - HOUR_MS), now]
    slowLists.delete(shape)
    if (times.length >= SLOW_LISTS) return true
    slowLists.set(shape, times)
    return false
  }

  async function look(
    { collection, total, countAll }: ScannedList,
    needed: NeededFields,
    { slowMs, max }: AutomaticIndexOptions,
  ): Promise<void> {
    const all = await countAll()
    if (all < DOCUMENTS_MIN || (!needed.sorts && total > all * FOUND_SHARE)) return
    const fields = fieldsOf(needed)
    const about = { collection, fields: namesOf(fields) }
    const shape = `${collection} ${about.fields}`
    if (!isReason(shape)) return
    const rows = await db.all(selectOfCollectionSql(collection))
    if (rows.some((row) => serves(parseFields(row), needed))) return

    const now = clock.now()
    try {
      const [replaced] = await changeIndexes(
        db,
        [collection],
        [
          makeRoomSql(collection, max, now - REPLACEABLE_MS),
          requireRow(
            insertAutomaticSql(
              { collection, fields, isUnique: false, byOwner: isByOwner(collection) },
              max,
              now,
            ),
            isNotMade,
          ),
          builds.kind.enqueueSql({ collection }),
        ],
      )
      for (const row of replaced as Pick<IndexRow, 'fields'>[])
        log.info(
          { collection, fields: namesOf(parseFields(row)) },
          'an automatic index is dropped: it makes room',
        )
      log.info(
        about,
        `an index is added: ${SLOW_LISTS} lists within an hour took ${slowMs} ms or longer without it`,
      )
    } catch (error) {
      if (!isNotMadeError(error)) throw error
      // Or another replica was faster, which has said so.
      if (!withoutRoom.has(shape))
        log.info({ ...about, max }, 'lists are slow without an index, but there is no room for another one')
      withoutRoom.set(shape, true)
    }
  }

  async function dropUnused(): Promise<void> {
    const before = clock.now() - UNUSED_MS
    for (const { id, collection, fields } of await db.all(selectUnusedSql(before)))
      try {
        await changeIndexes(
          db,
          [collection],
          [requireRow(dropUnusedSql(id, before), isNotMade), builds.kind.enqueueSql({ collection })],
        )
        log.info(
          { collection, fields: namesOf(parseFields({ fields })) },
          'an automatic index is dropped: no list has used it for 14 days',
        )
      } catch (error) {
        if (!isNotMadeError(error)) throw error
      }
  }
  jobs.every('store.unused-indexes', DAY_MS, dropUnused)

  return {
    observe(list) {
      if (options === false || list.ms < options.slowMs) return
      const needed = neededFields(list.filter, list.order)
      if (!needed) return
      inBackground(look(list, needed, options), (error) =>
        log.warn({ err: error, collection: list.collection }, 'an index that lists need could not be added'),
      )
    },

    used(indexId) {
      const now = clock.now()
      if (now - (notedUses.get(indexId) ?? -Infinity) < HOUR_MS) return
      notedUses.set(indexId, now)
      inBackground(db.write(noteUseSql(indexId, now, now - HOUR_MS)), (error) =>
        log.warn({ err: error, index: indexId }, 'the use of an index could not be noted'),
      )
    },

    async idle() {
      await running.idle()
    },
  }
}

const parseFields = ({ fields }: Pick<IndexRow, 'fields'>): IndexField[] => parseJson(fields) as IndexField[]

const UNCHANGED = 'The indexes stay as they are.'
const isNotMade = () => errors.conflict({ message: UNCHANGED })
const isNotMadeError = (error: unknown): boolean => error instanceof ApiError && error.message === UNCHANGED
