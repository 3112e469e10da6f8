import { BoundedMap } from '../../../../base/bounded-map.ts'
import { errors, invalid, type ApiError } from '../../../../base/errors.ts'
import { ConstraintError, requireRow, type Database, type Step } from '../../../../db/database.ts'
import type { Dialect, Row, Sql } from '../../../../db/sql.ts'
import type { Json } from '../query/filter.ts'
import { deadOf, duplicateIn, entriesOfDocuments, type DocumentEntries } from './document-entries.ts'
import { namesOf, type Entry, type UnindexableError } from './entries.ts'
import { deleteEntriesSql, putEntriesSql, selectTakenSql } from '../sql/entry-rows.ts'
import type { Index, IndexSet } from './definition.ts'
import { noteSql, selectSetSql, setOf, withoutIndexes } from './index-rows.ts'

const COLLECTIONS_MAX = 10_000
const TRIES = 100
/** What the trigger of `store_documents` says. */
const CHANGED = 'the indexes of the collection have changed'

/** A document before and after a write; undefined where there is none. */
export type Change = {
  readonly id: string
  readonly owner: string
  readonly before?: Json | undefined
  readonly after?: Json | undefined
  /** Where the document is in the request, if it is not the body. */
  readonly path?: string
}

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
}

/** Keeps the entries of documents up, in the batch that writes the documents. */
export function createUpkeep(
  db: Database,
  /** Gives up an index that this server made by itself and that a document does not fit into. */
  giveUp: (index: Index, reason: string) => Promise<void>,
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

  async function runOnce<R extends Row>(set: IndexSet, { query, changes }: DocumentWrite<R>): Promise<R[]> {
    if (set.indexes.length === 0) return db.write(query)
    const { steps, alive } = entrySteps(db.dialect, set, changes())
    let unchanged: ApiError | undefined
    try {
      const [rows] = await db.batch([requireRow(query, () => (unchanged = errors.conflict())), steps])
      return rows
    } catch (error) {
      if (unchanged && error === unchanged) return []
      if (error instanceof ConstraintError && error.kind === 'unique') throw await takenError(db, set, alive)
      throw error
    }
  }

  let writes = 0
  return {
    known,
    /** How many writes this process has begun. */
    countWrites: () => writes,
    reload,

    /**
     * Runs a write with the steps of its entries; if the collection's indexes are others than this process knew, again.
     *
     * @param write makes the write for a set of indexes
     * @returns the rows of its statement; none if it changed nothing
     * @throws CONFLICT naming the fields of a unique index; VALIDATION_ERROR for a document that an index cannot hold
     */
    async write<R extends Row>(
      collection: string,
      write: (set: IndexSet) => DocumentWrite<R> | Promise<DocumentWrite<R>>,
    ): Promise<R[]> {
      writes++
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const set = known(collection)
        try {
          const rows = await runOnce(set, await write(set))
          if (rows.length > 0 || (await reload(collection)).version === set.version) return rows
        } catch (error) {
          if (error instanceof ConstraintError && error.kind === 'trigger' && error.message.includes(CHANGED))
            await reload(collection)
          else if (error instanceof Refusal) {
            if (error.index.source === 'declared') throw error.answer
            await giveUp(error.index, error.message)
            await reload(collection)
          } else if (!(error instanceof Released)) throw error
        }
      }
      throw errors.unavailable({
        message: `The indexes of ${collection} keep changing: try again.`,
        retryAfter: 1,
      })
    },
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

/** The statements behind that of the documents, and the entries that they leave. */
function entrySteps(
  dialect: Dialect,
  { indexes }: IndexSet,
  changes: readonly Change[],
): { steps: Step[]; alive: DocumentEntries[] } {
  const documentsOf = (side: 'before' | 'after') =>
    changes.flatMap(({ id, owner, [side]: document }) =>
      document === undefined ? [] : [{ id, owner, document }],
    )
  const [before, after] = [documentsOf('before'), documentsOf('after')]
  const [alive, dead, deleted]: [DocumentEntries[], DocumentEntries[], DocumentEntries[]] = [[], [], []]
  const notes: Step[] = []
  for (const index of indexes) {
    // A document that it could not hold has no entries.
    const old = entriesOfDocuments(index, before, () => undefined)
    const made = entriesOfDocuments(index, after, (id, error) => {
      throw new Refusal(index, error, changes.find((one) => one.id === id)?.path)
    })
    alive.push(...select(made, old, (entry, other) => other?.ends !== entry.ends))
    const gone = select(old, made, (_, other) => other === undefined)
    if (index.state === 'ready') deleted.push(...gone)
    // The build may insert it later, from its snapshot.
    else dead.push(...deadOf(gone))
    notes.push(...noteSql(index, made))
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

/** The entries of documents that are chosen, given the entry with the same key that the same document has among others. */
function select(
  documents: readonly DocumentEntries[],
  others: readonly DocumentEntries[],
  chooses: (entry: Entry, other: Entry | undefined) => boolean,
): DocumentEntries[] {
  const textOf = ({ key }: Entry): string => key.toString('latin1')
  const known = new Map(
    others.map(({ id, entries }) => [id, new Map(entries.map((entry) => [textOf(entry), entry]))]),
  )
  return documents.flatMap((one) => {
    const own = known.get(one.id)
    const entries = one.entries.filter((entry) => chooses(entry, own?.get(textOf(entry))))
    return entries.length > 0 ? [{ ...one, entries }] : []
  })
}

/** What a write that a unique index refused is answered. */
async function takenError(
  db: Database,
  { indexes }: IndexSet,
  alive: readonly DocumentEntries[],
): Promise<Error> {
  const unique = alive.filter(({ index }) => index.isUnique)
  const taken = duplicateIn(unique)?.index.id ?? (await db.get(selectTakenSql(unique)))?.index_id
  const index = indexes.find(({ id }) => id === taken)
  if (!index) return new Released()
  const fields = index.fields.map(({ path }) => path.join('.'))
  return errors.conflict({
    message: `Another document has the same ${fields.join(' and ')}.`,
    details: { fields },
  })
}
