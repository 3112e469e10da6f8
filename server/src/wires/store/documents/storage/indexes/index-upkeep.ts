import { BoundedMap } from '../../../../../base/bounded-map.ts'
import { errors, invalid, type ApiError } from '../../../../../base/errors.ts'
import { createPause } from '../../../../../base/pause.ts'
import { ConstraintError, requireRow, type Database, type Step } from '../../../../../db/database.ts'
import type { Dialect, Row, Sql } from '../../../../../db/sql.ts'
import type { Change, IndexedChanges } from '../entries/indexed-changes.ts'
import {
  deadOf,
  duplicateIn,
  entriesBeside,
  entriesOfDocuments,
  placesOf,
  type Places,
  type DocumentEntries,
} from '../entries/document-entries.ts'
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

/** Writes with the steps around them, which find what the stages before have written. */
export type WriteStage<R extends Row = Row> = OtherSteps & {
  readonly writes: readonly CollectionWrite<R>[]
  /** Makes the error of one of its documents, by its id, that an index refuses. */
  readonly refused?: (error: ApiError, id: string) => ApiError
}

/** A stage, made for sets of indexes. */
type MadeStage<R extends Row> = Omit<WriteStage<R>, 'writes'> & {
  readonly writes: readonly (DocumentWrite<R> & { readonly set: IndexSet })[]
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
  async function runOnce<R extends Row>(stages: readonly MadeStage<R>[]): Promise<R[][] | undefined> {
    let unchanged: ApiError | undefined
    const partOf = ({ writes, first = [], last = [], refused }: MadeStage<R>) => {
      const changing = writes.map(({ set, changes }) => ({ set, changes: hasIndexes(set) ? changes() : [] }))
      const { steps, alive, gone } = entrySteps(db.dialect, changing, refused)
      steps.push(...wordSteps(db.dialect, changing))
      const queries = writes.map(({ query }) => requireRow(query, () => (unchanged = errors.conflict())))
      return { first, queries, steps, last, alive, gone }
    }
    const parts: ReturnType<typeof partOf>[] = []
    const pause = createPause()
    for (const stage of stages) {
      // The entries of a large document take tens of milliseconds.
      if (parts.length > 0) await pause()
      parts.push(partOf(stage))
    }
    const [only] = parts
    // Most changes leave the values of all indexes as they are.
    if (parts.length === 1 && only!.queries.length === 1 && lengthOf(only!) === 1) {
      const rows = await db.write(stages[0]!.writes[0]!.query)
      return rows.length > 0 ? [rows] : undefined
    }
    try {
      const rows = await db.batch(
        parts.flatMap(({ first, queries, steps, last }) => [first, queries, steps, last]),
      )
      return parts.flatMap((_, i) => rows[i * 4 + 1] as R[][])
    } catch (error) {
      if (unchanged && error === unchanged) return undefined
      if (!(error instanceof ConstraintError && error.kind === 'unique')) throw error
      const failed = stageAt(parts.map(lengthOf), error.step)
      const { writes, refused } = stages[failed]!
      const taken = await takenError(
        db,
        writes.flatMap(({ set }) => set.indexes),
        parts[failed]!.alive,
        placesOf(parts.slice(0, failed)),
      )
      throw taken ? (refused?.(taken.error, taken.id) ?? taken.error) : new Released()
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

  async function writeStages<R extends Row>(stages: readonly WriteStage<R>[]): Promise<R[][] | undefined> {
    writes++
    const names = [...new Set(stages.flatMap((stage) => stage.writes.map(({ collection }) => collection)))]
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const current = new Map(names.map((name) => [name, known(name)]))
      try {
        for (const set of current.values()) {
          const missing = requireIndexes(set)
          if (missing) await missing
        }
        const made: MadeStage<R>[] = []
        for (const stage of stages) {
          const newWrites: MadeStage<R>['writes'][number][] = []
          for (const { collection, make } of stage.writes) {
            const set = current.get(collection)!
            newWrites.push({ ...(await make(set)), set })
          }
          made.push({ ...stage, writes: newWrites })
        }
        const leaving = made
          .flatMap((stage) => stage.writes)
          .filter(({ breaksIdOrder, set }) => breaksIdOrder && set.isIdOrdered)
        if (leaving.length > 0) {
          for (const { set } of leaving) await leaveIdOrder(set.collection)
          await reloadAll(current)
          continue
        }
        const rows = await runOnce(made)
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

  const writeAll = <R extends Row>(
    all: readonly CollectionWrite<R>[],
    others: OtherSteps = {},
  ): Promise<R[][] | undefined> => writeStages([{ ...others, writes: all }])

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

    /** Runs stages of writes likewise, one after the other. */
    writeStages,
  }
}

export type Upkeep = ReturnType<typeof createUpkeep>

/** A document does not fit into an index. */
class Refusal extends Error {
  readonly index: Index
  readonly answer: ApiError
  constructor(
    index: Index,
    cause: UnindexableError,
    answerOf: (error: ApiError) => ApiError,
    path = '/body',
  ) {
    super(cause.message, { cause })
    this.index = index
    this.answer = answerOf(
      invalid({
        path,
        message: `the index of ${namesOf(index.fields)} cannot hold this document: ${cause.message}`,
      }),
    )
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
  refused: WriteStage['refused'] = (error) => error,
): { steps: Step[]; alive: DocumentEntries[]; gone: DocumentEntries[] } {
  // As in most collections.
  if (writes.every(({ set }) => set.indexes.length === 0)) return { steps: [], alive: [], gone: [] }
  const [alive, gone]: [DocumentEntries[], DocumentEntries[]] = [[], []]
  const notes: Step[] = []
  for (const { set, changes: all } of writes) {
    const [before, after] = [documentsOf(all, 'before'), documentsOf(all, 'after')]
    for (const index of set.indexes) {
      // A document that it could not hold has no entries.
      const old = entriesOfDocuments(index, before, () => undefined)
      const newEntries = entriesOfDocuments(index, after, (id, error) => {
        throw new Refusal(
          index,
          error,
          (answer) => refused(answer, id),
          all.find((one) => one.id === id)?.path,
        )
      })
      alive.push(...select(newEntries, old, (entry, other) => other?.ends !== entry.ends))
      gone.push(...select(old, newEntries, (_, other) => other === undefined))
      notes.push(...noteSql(index, newEntries))
    }
  }
  // Deletions last: two documents that change their unique values against each other would wait for each other in a circle.
  // Dead entries are put with the others, in the order in which a build inserts.
  const deleted = gone.filter(({ index }) => index.state === 'ready')
  // The build may insert the others later, from its snapshot.
  const put = [...alive, ...deadOf(gone.filter(({ index }) => index.state !== 'ready'))]
  const steps = [
    ...(put.length > 0 ? [putEntriesSql(dialect, put)] : []),
    ...(deleted.length > 0 ? [deleteEntriesSql(deleted)] : []),
    ...notes,
  ]
  return { steps, alive, gone }
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

const lengthOf = (part: Record<'first' | 'queries' | 'steps' | 'last', readonly Step[]>): number =>
  part.first.length + part.queries.length + part.steps.length + part.last.length

/** The stage that a step belongs to. */
function stageAt(lengths: readonly number[], step = 0): number {
  let end = 0
  return Math.max(
    0,
    lengths.findIndex((length) => step < (end += length)),
  )
}

/**
 * What a write that a unique index refused is answered, and the id of the document; undefined if no key is taken any more.
 *
 * @param earlier the keys that the same batch has taken and freed before
 */
async function takenError(
  db: Database,
  indexes: readonly Index[],
  alive: readonly DocumentEntries[],
  earlier: Places,
): Promise<{ error: ApiError; id: string } | undefined> {
  const unique = alive.filter(({ index }) => index.isUnique)
  const others = entriesBeside(unique, earlier)
  const twice = duplicateIn(unique, earlier)
  const stored = twice || others.length === 0 ? undefined : await db.get(selectTakenSql(others))
  const index = twice?.index ?? indexes.find(({ id }) => id === stored?.index_id)
  if (!index) return undefined
  const fields = index.fields.map(({ path }) => path.join('.'))
  const error = errors.conflict({
    message: `Another document has the same ${fields.join(' and ')}.`,
    details: { fields },
  })
  return { error, id: twice?.other ?? stored!.id }
}
