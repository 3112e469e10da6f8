import { Coalescer } from '../../../../base/coalesce.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'
import type { Collections } from '../definition/collections.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { Indexes } from '../storage/indexes/indexes.ts'
import { selectChangesUnderWaySql, type ChangeRow } from './change-rows.ts'
import type { FieldMigration } from './field-changes.ts'
import { interimDefinition, protectedBy } from './interim-definition.ts'
import { readTogether, type Configured } from './read-definitions.ts'
import {
  selectActiveSql,
  selectRevisionSql,
  selectVersionSql,
  type StoredDefinition,
  type VersionRow,
} from './version-rows.ts'

/** How often a process looks for definitions that another one has changed. A connection that listens would cost more. */
const LOOK_MS = 500
/** How long a change waits for the other workers of the server. */
const SIBLINGS_MS = 2_000
const TOPIC = 'store.definitions'

export const definitionIn = ({ definition }: Pick<VersionRow, 'definition'>): CollectionDeclaration | null =>
  definition === null ? null : (JSON.parse(definition) as CollectionDeclaration)

export const fieldChangesIn = ({ documents }: Pick<VersionRow, 'documents'>): readonly FieldMigration[] =>
  documents === null ? [] : (JSON.parse(documents) as FieldMigration[])

/**
 * Keeps the collections of this process those that the configuration and the stored definitions declare together.
 *
 * @param nouns.follow called when they have changed: what was decided by the ones before is to be decided again
 */
export function createStoredDefinitions(
  { db, log, siblings }: Pick<WireContext, 'db' | 'log' | 'siblings'>,
  {
    collections,
    indexes,
    follow,
  }: { collections: Collections; indexes: Pick<Indexes, 'require'>; follow: () => void },
  options: Configured,
) {
  let revision = '0'
  let faults: ReadonlyMap<string, string> = new Map()
  /** The revision of the database when it was last looked at. */
  let seen: number | undefined
  let looking: NodeJS.Timeout | undefined
  let spreading: Promise<unknown> | undefined

  /** @param isNews whether the other workers may not know of it */
  async function load(isNews: boolean): Promise<void> {
    const { revision: newest } = (await db.get(selectRevisionSql))!
    if (newest === revision) return
    const read = readTogether(options, await readInForce(db))
    for (const [collection, fault] of read.faults)
      log.error(
        { collection },
        `the definition cannot be read, and only administrators use the collection until it is changed: ${fault}`,
      )
    faults = read.faults
    collections.replace(read.set)
    indexes.require(read.set.indexes)
    // What is committed meanwhile is found by the next load: the revision was read before.
    revision = newest
    follow()
    if (isNews) spreading = siblings.ask(TOPIC, null, SIBLINGS_MS)
  }

  const loads = new Coalescer<{ isNews: boolean }, undefined>({
    answer: async (calls) => {
      await load(calls.some(({ isNews }) => isNews))
      return calls.map(() => undefined)
    },
  })

  async function refresh(): Promise<void> {
    await loads.call({ isNews: true })
    // The next request of this client may be another worker's.
    await spreading
  }

  /** Looks for changes of other processes, unless nothing was committed. */
  function look(): void {
    const committed = db.revision()
    if (committed !== undefined && committed === seen) return
    refresh().then(
      () => (seen = committed),
      (error: unknown) =>
        log.warn({ err: error }, 'the definitions of collections could not be read: it is tried again'),
    )
  }

  return {
    /** Resolves when what is in force now has taken effect in this process. */
    refresh,
    /** Why a collection is closed whose definition cannot be read. */
    faultOf: (collection: string): string | undefined => faults.get(collection),
    async start(): Promise<void> {
      await load(false)
      siblings.on(TOPIC, () => loads.call({ isNews: false }))
      looking = setInterval(look, LOOK_MS).unref()
    },
    async close(): Promise<void> {
      clearInterval(looking)
      await loads.idle()
    },
  }
}

export type StoredDefinitions = ReturnType<typeof createStoredDefinitions>

/** What is in force: the definitions, and in the place of one whose documents are being changed what holds meanwhile. */
export async function readInForce(db: Pick<WireContext['db'], 'all'>): Promise<StoredDefinition[]> {
  // First: one that ends in between has ended with the definition that is read.
  const underWay = await db.all(selectChangesUnderWaySql)
  const stored = await readStored(db)
  const interim: StoredDefinition[] = []
  for (const change of underWay) interim.push(await interimOf(db, change))
  const names = new Set(interim.map(({ collection }) => collection))
  return [...stored.filter(({ collection }) => !names.has(collection)), ...interim]
}

/** What is in force while documents are changed. */
export async function interimOf(
  db: Pick<WireContext['db'], 'all'>,
  { collection, version, base, state }: ChangeRow,
): Promise<StoredDefinition> {
  const rowOf = async (version: number): Promise<VersionRow | undefined> =>
    (await db.all(selectVersionSql(collection, version)))[0]
  const [old, row] = [await rowOf(base), await rowOf(version)]
  const [before, after] = [(old && definitionIn(old)) ?? {}, (row && definitionIn(row)) ?? {}]
  if (state === 'settling') return { collection, definition: protectedBy(after, before) }
  const definition = interimDefinition(before, after, row ? fieldChangesIn(row) : [])
  return { collection, definition, ...(after.schema && { alsoFits: after.schema }) }
}

/** The definitions that are in force, without what holds while documents are changed. */
export async function readStored(db: Pick<WireContext['db'], 'all'>): Promise<StoredDefinition[]> {
  const rows = await db.all(selectActiveSql)
  return rows.flatMap((row) => {
    const definition = definitionIn(row)
    return definition ? [{ collection: row.collection, definition }] : []
  })
}
