import { BoundedMap } from '../../../../../base/bounded-map.ts'
import { errors, invalid, type ApiError } from '../../../../../base/errors.ts'
import { ConstraintError, requireRow, type Database, type Step } from '../../../../../db/database.ts'
import type { Dialect, Row, Sql } from '../../../../../db/sql.ts'
import type { Change, IndexedChanges } from '../entries/indexed-changes.ts'
import { deadOf, duplicateIn, entriesOfDocuments, type DocumentEntries } from '../entries/document-entries.ts'
import { CHANGES } from '../changes-channel.ts'
import { namesOf, type Entry, type UnindexableError } from '../entries/entries.ts'
import { deleteEntriesSql, putEntriesSql, selectTakenSql } from '../sql/entry-rows.ts'
import { hasIndexes, type Index, type IndexSet } from '../entries/index-definition.ts'
import { wordSteps } from '../search/search-upkeep.ts'
import { noteSql, selectSetSql, setOf, withoutIndexes } from '../sql/index-rows.ts'

const COLLECTIONS_MAX = 10_000
const TRIES = 100
/** What the trigger of `store_documents` says. */
const CHANGED = 'the indexes of the collection have changed'

/** A write of documents of one collection. */
export type DocumentWrite<R extends Row> = {
  /**
   * The statement; it answers a row if it changes something. It fails or changes nothing if the collection's indexes are not
   * those of the set: inserted rows have its version as `index_set`, other statements the condition `isVersion`. A document
   * that is changed or deleted has the version that `before` was read with.
   */
  readonly query: Sql<R>
  /** Asked only if there are indexes. */
  readonly changes: () => readonly Change[]
  /** Whether it inserts documents whose `createdAt` is not the time of their ids. */
  readonly breaksIdOrder?: boolean
}

/** A write in a collection, made for a set of indexes. */
export type CollectionWrite<R extends Row> = {
  readonly collection: string
  readonly make: (set: IndexSet) => DocumentWrite<R> | Promise<DocumentWrite<R>>
}

/** Other steps of the batch. */
export type OtherSteps = {
  /** In front of the writes. */
  readonly first?: readonly Step[]
  /** Behind them. */
  readonly last?: readonly Step[]
}

/** Keeps the entries of documents up, in the batch that writes the documents. */
export function createUpkeep(
  { db }: { db: Database },
  {
    giveUp,
    leaveIdOrder,
    requireIndexes,
  }: {
    /** Gives up an index that this server made by itself and that a document does not fit into. */
    giveUp: (index: Index, reason: string) => Promise<void>
    /** Has lists of a collection read in the order of `createdAt` from now on. */
    leaveIdOrder: (collection: string) => Promise<void>
    /** Refuses writes while an index is not there without which a rule would not hold; undefined if none is missing. */
    requireIndexes: (set: IndexSet) => Promise<void> | undefined
  },
) {
  // Without an entry a collection is taken for one without indexes; a write that is wrong about it fails.
  const sets = new BoundedMap<string, IndexSet>(COLLECTIONS_MAX)
  /** The indexes of a collection as this process knows them. */
  const known = (collection: string): IndexSet => sets.get(collection) ?? withoutIndexes(collection)

  /** Reads the indexes of a collection. */
  async function reload(collection: string): Promise<IndexSet> {
    const set = setOf(collection, await db.all(selectSetSql(collection)))
    if (set.version > 0) sets.set(collection, set)
    return set
  }

  /** @returns the rows of each write; undefined if one of them changed nothing, and so none did */
  async function runOnce<R extends Row>(
    writes: readonly (DocumentWrite<R> & { readonly set: IndexSet })[],
    { first = [], last = [] }: OtherSteps,
  ): Promise<R[][] | undefined> {
    const [only] = writes
    const changing = writes.map(({ set, changes }) => ({ set, changes: hasIndexes(set) ? changes() : [] }))
    const { steps, alive } = entrySteps(db.dialect, changing)
    steps.push(...wordSteps(db.dialect, changing))
    // Most changes leave the values of all indexes as they are.
    if (writes.length === 1 && first.length + steps.length + last.length === 0) {
      const rows = await db.write(only!.query)
      return rows.length > 0 ? [rows] : undefined
    }
    let unchanged: ApiError | undefined
    const queries = writes.map(({ query }) => requireRow(query, () => (unchanged = errors.conflict())))
    try {
      const [, rows] = await db.batch([first, queries, steps, last])
      return rows
    } catch (error) {
      if (unchanged && error === unchanged) return undefined
      if (error instanceof ConstraintError && error.kind === 'unique')
        throw await takenError(
          db,
          writes.flatMap(({ set }) => set.indexes),
          alive,
        )
      throw error
    }
  }

  /** @returns whether the indexes of one of the collections are others than the set says */
  async function reloadAll(sets: ReadonlyMap<string, IndexSet>): Promise<boolean> {
    let hasChanged = false
    for (const [name, { version }] of sets)
      hasChanged = (await reload(name)).version !== version || hasChanged
    return hasChanged
  }

  let writes = 0

  async function writeAll<R extends Row>(
    all: readonly CollectionWrite<R>[],
    others: OtherSteps = {},
  ): Promise<R[][] | undefined> {
    writes++
    const names = [...new Set(all.map(({ collection }) => collection))]
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const current = new Map(names.map((name) => [name, known(name)]))
      try {
        const newWrites: (DocumentWrite<R> & { set: IndexSet })[] = []
        for (const set of current.values()) {
          const missing = requireIndexes(set)
          if (missing) await missing
        }
        for (const { collection, make } of all) {
          const set = current.get(collection)!
          newWrites.push({ ...(await make(set)), set })
        }
        const leaving = newWrites.filter(({ breaksIdOrder, set }) => breaksIdOrder && set.isIdOrdered)
        if (leaving.length > 0) {
          for (const { set } of leaving) await leaveIdOrder(set.collection)
          await reloadAll(current)
          continue
        }
        const rows = await runOnce(newWrites, others)
        if (rows) db.notify(CHANGES)
        if (rows || !(await reloadAll(current))) return rows
      } catch (error) {
        if (error instanceof ConstraintError && error.kind === 'trigger' && error.message.includes(CHANGED))
          await reloadAll(current)
        else if (error instanceof Refusal) {
          if (error.index.source === 'declared') throw error.answer
          await giveUp(error.index, error.message)
          await reload(error.index.collection)
        } else if (!(error instanceof Released || isTaken(error))) throw error
      }
    }
    throw errors.unavailable({
      message: `The indexes of ${names.join(', ')} keep changing: try again.`,
      retryAfter: 1,
    })
  }

  return {
    known,
    /** How many writes this process has begun. */
    countWrites: () => writes,
    reload,

    /**
     * Runs a write with the steps of its entries; if the collection's indexes are others than this process knew, again.
     *
     * @param make makes the write for a set of indexes
     * @returns the rows of its statement; none if it changed nothing
     * @throws CONFLICT naming the fields of a unique index; VALIDATION_ERROR for a document that an index cannot hold
     */
    async write<R extends Row>(
      collection: string,
      make: CollectionWrite<R>['make'],
      others?: OtherSteps,
    ): Promise<R[]> {
      const [rows = []] = (await writeAll([{ collection, make }], others)) ?? []
      return rows
    },

    /**
     * Runs writes in several collections likewise, all or none.
     *
     * @returns the rows of each; undefined if one of them changed nothing
     * @throws likewise
     */
    writeAll,
  }
}

export type Upkeep = ReturnType<typeof createUpkeep>

/** A document does not fit into an index. */
class Refusal extends Error {
  readonly index: Index
  readonly answer: ApiError
  constructor(index: Index, cause: UnindexableError, path = '/body') {
    super(cause.message, { cause })
    this.index = index
    this.answer = invalid({
      path,
      message: `the index of ${namesOf(index.fields)} cannot hold this document: ${cause.message}`,
    })
  }
}

/** A key of a unique index that was taken, and is not any more. */
class Released extends Error {}

/** The id of a document, which another transaction has inserted meanwhile. */
const isTaken = (error: unknown): boolean => error instanceof ConstraintError && error.kind === 'unique'

/** The statements behind that of the documents, and the entries that they leave. */
function entrySteps(
  dialect: Dialect,
  writes: readonly IndexedChanges[],
): { steps: Step[]; alive: DocumentEntries[] } {
  // As in most collections.
  if (writes.every(({ set }) => set.indexes.length === 0)) return { steps: [], alive: [] }
  const [alive, dead, deleted]: [DocumentEntries[], DocumentEntries[], DocumentEntries[]] = [[], [], []]
  const notes: Step[] = []
  for (const { set, changes: all } of writes) {
    const [before, after] = [documentsOf(all, 'before'), documentsOf(all, 'after')]
    for (const index of set.indexes) {
      // A document that it could not hold has no entries.
      const old = entriesOfDocuments(index, before, () => undefined)
      const newEntries = entriesOfDocuments(index, after, (id, error) => {
        throw new Refusal(index, error, all.find((one) => one.id === id)?.path)
      })
      alive.push(...select(newEntries, old, (entry, other) => other?.ends !== entry.ends))
      const goneEntries = select(old, newEntries, (_, other) => other === undefined)
      if (index.state === 'ready') deleted.push(...goneEntries)
      // The build may insert it later, from its snapshot.
      else dead.push(...deadOf(goneEntries))
      notes.push(...noteSql(index, newEntries))
    }
  }
  // Deletions last: two documents that change their unique values against each other would wait for each other in a circle.
  // Dead entries are put with the others, in the order in which a build inserts.
  const put = [...alive, ...dead]
  const steps = [
    ...(put.length > 0 ? [putEntriesSql(dialect, put)] : []),
    ...(deleted.length > 0 ? [deleteEntriesSql(deleted)] : []),
    ...notes,
  ]
  return { steps, alive }
}

const documentsOf = (changes: readonly Change[], side: 'before' | 'after') =>
  changes.flatMap(({ id, owner, [side]: document }) =>
    document === undefined ? [] : [{ id, owner, document }],
  )

/** The entries of documents that are chosen, given the entry with the same key that the same document has among others. */
function select(
  documents: readonly DocumentEntries[],
  others: readonly DocumentEntries[],
  chooses: (entry: Entry, other: Entry | undefined) => boolean,
): DocumentEntries[] {
  const textOf = ({ key }: Entry): string => key.toString('latin1')
  const entriesById = new Map(
    others.map(({ id, entries }) => [id, new Map(entries.map((entry) => [textOf(entry), entry]))]),
  )
  return documents.flatMap((one) => {
    const own = entriesById.get(one.id)
    const entries = one.entries.filter((entry) => chooses(entry, own?.get(textOf(entry))))
    return entries.length > 0 ? [{ ...one, entries }] : []
  })
}

/** What a write that a unique index refused is answered. */
async function takenError(
  db: Database,
  indexes: readonly Index[],
  alive: readonly DocumentEntries[],
): Promise<Error> {
  const unique = alive.filter(({ index }) => index.isUnique)
  const takenIndex = duplicateIn(unique)?.index.id ?? (await db.get(selectTakenSql(unique)))?.index_id
  const index = indexes.find(({ id }) => id === takenIndex)
  if (!index) return new Released()
  const fields = index.fields.map(({ path }) => path.join('.'))
  return errors.conflict({
    message: `Another document has the same ${fields.join(' and ')}.`,
    details: { fields },
  })
}
