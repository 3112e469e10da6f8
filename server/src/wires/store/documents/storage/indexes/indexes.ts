import { BoundedMap } from '../../../../../base/bounded-map.ts'
import type { Clock } from '../../../../../base/clock.ts'
import { StartError } from '../../../../../base/start-error.ts'
import { cachedUntilWrite } from '../../../../../db/cached-until-write.ts'
import type { Database, Step, Transaction } from '../../../../../db/database.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'
import { createBuilds } from './index-builds.ts'
import {
  haveSameEntries,
  mergeDefinitions,
  timeIndex,
  type Definition,
  type IndexSet,
} from '../entries/index-definition.ts'
import { namesOf } from '../entries/entries.ts'
import {
  changeIndexes,
  declareSql,
  dropSql,
  formatOf,
  indexOf,
  insertIndexSql,
  isSame,
  leaveIdOrderSql,
  selectIndexesSql,
  selectUnfinishedSql,
  selectUnorderedSql,
  type IndexRow,
} from '../sql/index-rows.ts'
import { replaceEntries, type Replacement } from './replace-entries.ts'
import { refuseIfDropped, untilComplete } from './required-indexes.ts'
import { createUpkeep } from './index-upkeep.ts'

type IsOne = (one: Definition) => boolean

const COLLECTIONS_MAX = 10_000
const RECENT_MS = 1_000

/**
 * The indexes of collections; see docs/decisions/047-index-entries.md.
 *
 * @param hasAutomatic whether indexes may be there that nobody has declared
 * @param isByOwner whether a user's lists of a collection are those of the user's own documents
 */
export function createIndexes(
  context: Pick<WireContext, 'db' | 'clock' | 'jobs' | 'log'>,
  { isByOwner, hasAutomatic }: { isByOwner: (collection: string) => boolean; hasAutomatic: boolean },
) {
  const { db, clock, log } = context
  let unique: readonly Definition[] = []
  const upkeep = createUpkeep(
    { db },
    {
      giveUp: (index, reason) => builds.fail(index, reason),
      leaveIdOrder: (collection) =>
        changeIndexes(db, collection, leaveIdOrder(collection)).then(() => undefined),
      requireIndexes: (set) => {
        const missing = unique.find(
          (one) =>
            one.collection === set.collection &&
            !set.indexes.some((index) => index.isUnique && haveSameEntries(one, index)),
        )
        return missing && refuseIfDropped(db, missing)
      },
    },
  )
  const builds = createBuilds(context, { countWrites: () => upkeep.countWrites() })
  let incomplete: readonly Definition[] = []
  let added: readonly Definition[] = []

  const leaveIdOrder = (collection: string): Step[] => [
    ...leaveIdOrderSql(collection, isByOwner(collection), clock.now()),
    builds.kind.enqueueSql({ collection }),
  ]

  /** Drops what a start that is refused has added: other servers are not to keep it up. What has failed is not kept up. */
  async function withdraw(): Promise<void> {
    const wanted = added.filter(({ requiredBy }) => requiredBy !== undefined)
    const rows = (await db.all(selectIndexesSql())).filter(
      (row) => row.state !== 'failed' && wanted.some((one) => isSame(one, row)),
    )
    for (const [collection, of] of Map.groupBy(rows, (row) => row.collection))
      await changeIndexes(db, collection, [
        dropSql(of.map(({ id }) => id)),
        builds.kind.enqueueSql({ collection }),
      ])
  }

  return {
    ...upkeep,
    builds,
    recent: recentSets(db, clock, (collection) => upkeep.reload(collection)),

    /** Requires these unique indexes for writes, of those that another server has declared. */
    require(wanted: readonly Definition[]): void {
      unique = requiredUnique(wanted)
    },

    /**
     * Adds and drops indexes until they are those that collections declare, and goes on with what was interrupted.
     *
     * @param required those of which nothing is written without the unique ones; default: all
     */
    async declare(wanted: readonly Definition[], required = wanted): Promise<void> {
      const unordered = await db.all(selectUnorderedSql)
      const definitions = mergeDefinitions([
        ...wanted,
        ...unordered.map(({ collection }) => timeIndex(collection, isByOwner(collection))),
      ])
      const rows = await db.all(selectIndexesSql())
      const isDeclared = (row: IndexRow): boolean => definitions.some((one) => isSame(one, row))
      /** An automatic index goes if a declared one of its fields does more, or if it was made under another configuration. */
      const isWanted = (row: IndexRow): boolean =>
        row.source === 'automatic'
          ? (isDeclared(row) && row.state !== 'failed') ||
            (hasAutomatic &&
              (row.by_owner === 1) === isByOwner(row.collection) &&
              !definitions.some((one) => haveSameEntries(one, indexOf(row))))
          : row.state !== 'failed' && isDeclared(row)
      const dropped = rows.filter((row) => !isWanted(row) || row.format !== formatOf(indexOf(row)))
      const kept = rows.filter((row) => !dropped.includes(row))
      const adopted = kept.filter((row) => row.source === 'automatic' && isDeclared(row))
      added = definitions.filter((one) => !kept.some((row) => isSame(one, row)))
      const changed = new Set([...dropped, ...adopted, ...added].map(({ collection }) => collection))
      for (const collection of changed) {
        const [gone, taken, fresh] = [dropped, adopted, added].map((list) =>
          list.filter((one) => one.collection === collection),
        ) as [IndexRow[], IndexRow[], Definition[]]
        await changeIndexes(db, collection, [
          ...(gone.length > 0 ? [dropSql(gone.map(({ id }) => id))] : []),
          ...(taken.length > 0 ? [declareSql(taken.map(({ id }) => id))] : []),
          ...fresh.map((one) => insertIndexSql(one, 'declared', clock.now())),
          builds.kind.enqueueSql({ collection }),
        ])
        for (const row of gone)
          log.info({ collection, fields: namesOf(indexOf(row).fields) }, 'an index is dropped')
      }
      for (const { collection } of await db.all(selectUnfinishedSql))
        await db.batch([
          builds.kind.retryLaneSql(collection),
          builds.kind.enqueueSql({ collection }, { id: `store-indexes-${collection}` }),
        ])
      unique = requiredUnique(required)
      incomplete = definitions.filter(
        (one) =>
          one.requiredBy !== undefined && !kept.some((row) => isSame(one, row) && row.state === 'ready'),
      )
    },

    /**
     * Resolves when the declared indexes that an option requires are complete; jobs must be running.
     *
     * @param goOn throws if the server is to close meanwhile
     * @param options.only those that are waited for; default: all
     * @param options.mayFail those whose failure is no error
     * @throws StartError if documents do not fit one of them, or two have the same values in a unique one
     */
    async complete(
      goOn: () => void,
      { only = () => true, mayFail = () => false }: { only?: IsOne; mayFail?: IsOne } = {},
    ): Promise<void> {
      const pending = incomplete.filter(only)
      if (pending.length === 0) return
      try {
        await untilComplete(context, pending, { goOn, mayFail })
      } catch (error) {
        if (error instanceof StartError) await withdraw()
        throw error
      }
    },

    /** Changes the entries in the transaction that replaces documents, before it does. */
    async replace(tx: Transaction, replacement: Replacement): Promise<void> {
      const failed = await replaceEntries(tx, replacement, {
        now: clock.now(),
        leaveIdOrder,
        deleteEntries: (collection) => builds.kind.enqueueSql({ collection }),
      })
      for (const [{ collection, fields }, reason] of failed)
        log.error(
          { collection, fields: namesOf(fields) },
          `an index fails with the restored documents: ${reason}`,
        )
    },
  }
}

/** Answers the indexes of a collection as they were a second ago at most, mostly without a read. */
function recentSets(
  db: Database,
  clock: Clock,
  read: (collection: string) => Promise<IndexSet>,
): (collection: string) => IndexSet | Promise<IndexSet> {
  if (db.revision() !== undefined) return cachedUntilWrite(db, read)
  const sets = new BoundedMap<string, { set: Promise<IndexSet>; until: number }>(COLLECTIONS_MAX)
  return (collection) => {
    const known = sets.get(collection)
    if (known && known.until > clock.elapsed()) return known.set
    const set = read(collection)
    sets.set(collection, { set, until: clock.elapsed() + RECENT_MS })
    // The caller gets the error.
    set.catch(() => sets.delete(collection))
    return set
  }
}

export type Indexes = ReturnType<typeof createIndexes>

const requiredUnique = (definitions: readonly Definition[]): Definition[] =>
  mergeDefinitions(definitions).filter(({ isUnique, requiredBy }) => isUnique && requiredBy !== undefined)
