import { parseJson } from '../../../../base/json.ts'
import type { ApiError } from '../../../../base/errors.ts'
import { withParts, type Step } from '../../../../db/database.ts'
import type { Dialect } from '../../../../db/sql.ts'
import type { DocumentRow } from '../language/document-json.ts'
import type { Json } from '../language/query/filter.ts'
import {
  deletionOf,
  insertionOf,
  type Documents,
  type NewDocument,
  type PlannedWrite,
} from './documents.ts'
import { entriesOfDocuments } from './entries/document-entries.ts'
import type { OtherSteps, WriteStage } from './indexes/index-upkeep.ts'
import { lockForWriteSql, type DocumentKey, type OwnedDocument } from './sql/document-rows.ts'

/** What documents may have together that are read ahead. */
const AHEAD_BYTES = 4_194_304

const keyOf = ({ collection, id }: DocumentKey): string => `${collection}/${id}`

/** What one operation writes. */
type Staged = Required<Pick<OtherSteps, 'first' | 'last'>> & {
  readonly operations: readonly number[]
  readonly writes: readonly PlannedWrite[]
  /** Set if it inserts documents and does nothing else. */
  readonly inserted?: readonly NewDocument[]
}

/** By how many bytes the documents of an owner grow. */
type Growth = { readonly operation: number; readonly owner: string; readonly bytes: number }

/**
 * Documents as they are once the writes of several operations are committed: these read here what the ones before have written,
 * and are committed together.
 */
export function stageDocuments(stored: Documents, dialect: Dialect) {
  /** What was read of the database; undefined where there is none. */
  const read = new Map<string, OwnedDocument | undefined>()
  const written = new Map<string, DocumentKey & { readonly left: OwnedDocument | undefined }>()
  const stages: Staged[] = []
  const growth: Growth[] = []
  const operations = new WeakMap<Error, number>()
  let operation = 0

  /** A document as it is known; nothing if it is not. */
  function known(key: DocumentKey): { readonly is: OwnedDocument | undefined } | undefined {
    const name = keyOf(key)
    const staged = written.get(name)
    if (staged) return { is: staged.left }
    return read.has(name) ? { is: read.get(name) } : undefined
  }

  function note(keys: readonly DocumentKey[], rows: readonly DocumentRow[]): void {
    for (const key of keys) read.set(keyOf(key), undefined)
    for (const row of rows) read.set(keyOf(row), row)
  }

  /** Those of some documents that are known, and the others. */
  function split(wanted: readonly DocumentKey[]): { here: DocumentRow[]; others: DocumentKey[] } {
    const here: DocumentRow[] = []
    const others: DocumentKey[] = []
    for (const { collection, id } of wanted) {
      const one = known({ collection, id })
      if (!one) others.push({ collection, id })
      else if (one.is) here.push({ collection, id, ...one.is })
    }
    return { here, others }
  }

  async function find(
    collection: string,
    id: string,
    ...room: Parameters<Documents['find']> extends [string, string, ...infer R] ? R : never
  ): Promise<OwnedDocument | undefined> {
    const one = known({ collection, id })
    if (one) return one.is
    const document = await stored.find(collection, id, ...room)
    if (document) read.set(keyOf({ collection, id }), document)
    return document
  }

  const of = (error: ApiError, at: number): ApiError => {
    operations.set(error, at)
    return error
  }

  /** A step whose error is one of an operation. */
  function stepOf(step: Step, at: number): Step {
    const { otherwise, ...parts } = withParts(step)
    return otherwise ? { ...parts, otherwise: () => of(otherwise(), at) } : step
  }

  function stage(
    writes: readonly PlannedWrite[],
    { first = [], last = [] }: OtherSteps = {},
    inserted?: readonly NewDocument[],
  ): void {
    const at = operation
    for (const { collection, leaves } of writes)
      for (const { id, left } of leaves) {
        const key = { collection, id }
        const before = known(key)?.is
        growth.push({
          operation: at,
          owner: (left ?? before)?.owner ?? '',
          bytes: Buffer.byteLength(left?.body ?? '') - Buffer.byteLength(before?.body ?? ''),
        })
        written.set(keyOf(key), { ...key, left })
      }
    stages.push({
      operations: [at],
      writes,
      first: first.map((step) => stepOf(step, at)),
      last: last.map((step) => stepOf(step, at)),
      ...(inserted && { inserted }),
    })
  }

  async function insertAll(
    list: readonly NewDocument[],
    pathOf?: (i: number) => string,
    others?: OtherSteps,
  ): Promise<boolean> {
    const { here, others: unknown } = split(list)
    if (here.length > 0) return false
    if (unknown.length > 0 && (await stored.findMany(unknown)).length > 0) return false
    stage([insertionOf(dialect, list, pathOf)], others, list)
    return true
  }

  /** The documents of a collection that are written here, as they are then. */
  const here = (collection: string) =>
    [...written.values()].flatMap(({ id, left, ...one }) =>
      one.collection === collection && left ? [{ id, ...left, document: parseJson(left.body) as Json }] : [],
    )

  const staged: Documents = {
    ...stored,
    find,
    insertAll,
    insert: (document, others) => insertAll([document], undefined, others),
    has: async (collection, id) => {
      const one = known({ collection, id })
      return one ? one.is !== undefined : stored.has(collection, id)
    },
    async findMany(wanted) {
      const { here, others } = split(wanted)
      return others.length > 0 ? [...here, ...(await stored.findMany(others))] : here
    },
    async findWithin(wanted, bytes) {
      const { here, others } = split(wanted)
      if (others.length === 0) return here
      const rows = await stored.findWithin(others, bytes)
      if (rows) note(others, rows)
      return rows && [...here, ...rows]
    },
    async writeAll(writes, others) {
      stage(writes, others)
      return writes.map(({ leaves }) => leaves.map(({ left }) => ({ version: left?.version ?? 0 })))
    },
    async remove(collection, id, rowFilter) {
      const old = await find(collection, id)
      if (!old || (rowFilter.rows === 'own' && rowFilter.owner !== old.owner)) return false
      stage([deletionOf({ collection, id, old })])
      return true
    },
    async idsWithKeys(index, keys, limit) {
      const { collection } = index
      const ids = await stored.idsWithKeys(index, keys, limit + written.size)
      const elsewhere = ids.filter((id) => !written.has(keyOf({ collection, id })))
      const found = entriesOfDocuments(index, here(collection), () => undefined).filter(({ entries }) =>
        entries.some((entry) => keys.some((key) => key.equals(entry.key))),
      )
      return [...elsewhere, ...found.map(({ id }) => id)].toSorted().slice(0, limit)
    },
  }

  return {
    documents: staged,

    /** Names the operation that writes from now on, by its index. */
    begin(index: number): void {
      operation = index
    },

    /** The operation that an error of the commit is of; undefined if it is of none. */
    operationOf: (error: unknown): number | undefined =>
      error instanceof Error ? operations.get(error) : undefined,

    /** Reads documents by one query, unless they are large. */
    async readAhead(keys: readonly DocumentKey[]): Promise<void> {
      const rows = keys.length > 1 ? await stored.findWithin(keys, { together: AHEAD_BYTES }) : undefined
      if (rows) note(keys, rows)
    },

    /** The collections of which documents are written. */
    collections: (): Set<string> => new Set([...written.values()].map(({ collection }) => collection)),

    /** The documents of a collection that match, in place of stored ones. */
    overlay: (
      collection: string,
      matching: readonly { readonly _id: string }[],
      matches: (document: Json) => boolean,
    ): unknown[] => [
      ...matching.filter(({ _id: id }) => !written.has(keyOf({ collection, id }))),
      ...here(collection).flatMap(({ document }) => (matches(document) ? [document] : [])),
    ],

    /** What the quota is asked for. */
    growth: growth as readonly Growth[],

    /**
     * Commits all writes in the order of their operations.
     *
     * @param others steps around all of them
     * @returns false if a document is not what was read any more
     * @throws as `Documents.writeAll`
     */
    async commit({ first = [], last = [] }: OtherSteps): Promise<boolean> {
      const keys = [...written.values()].map(({ collection, id }) => ({ collection, id }))
      // In one order, because batches of the same documents would wait for each other in a circle.
      const locks = dialect === 'postgres' && keys.length > 1 ? [lockForWriteSql(keys)] : []
      const rows = await stored.writeStages([
        { writes: [], first: [...first, ...locks] },
        ...joined(stages).map((one) => stageOf(one, dialect, of)),
        { writes: [], last },
      ])
      return rows !== undefined
    },
  }
}

export type StagedDocuments = ReturnType<typeof stageDocuments>

/** Insertions that follow each other become one, which takes a third of the time. */
function joined(stages: readonly Staged[]): Staged[] {
  const all: Staged[] = []
  for (const one of stages) {
    const before = all.at(-1)
    const isSame =
      before?.inserted && one.inserted && before.inserted[0]!.collection === one.inserted[0]!.collection
    // What has to be there in front of it may be what the one before inserts.
    if (!isSame || one.first.length > 0) all.push(one)
    else
      all[all.length - 1] = {
        operations: [...before.operations, ...one.operations],
        first: before.first,
        writes: [...before.writes, ...one.writes],
        last: [...before.last, ...one.last],
        inserted: [...before.inserted, ...one.inserted],
      }
  }
  return all
}

function stageOf(
  { operations, writes, first, last, inserted }: Staged,
  dialect: Dialect,
  of: (error: ApiError, operation: number) => ApiError,
): WriteStage {
  const operationOf = (id: string): number =>
    operations[writes.findIndex(({ leaves }) => leaves.some((one) => one.id === id))] ?? operations[0]!
  return {
    first,
    last,
    writes: inserted ? [insertionOf(dialect, inserted)] : writes,
    refused: (error, id) => of(error, operations.length > 1 ? operationOf(id) : operations[0]!),
  }
}
