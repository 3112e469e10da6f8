import { errors, type ApiError } from '../../../../../base/errors.ts'
import { withParts, type Step } from '../../../../../db/database.ts'
import type { Dialect } from '../../../../../db/sql.ts'
import type { Growth } from '../../../quota.ts'
import type { Json } from '../../language/query/filter.ts'
import { insertionOf, type Documents, type PlannedWrite } from '../documents.ts'
import type { OtherSteps, WriteStage } from '../indexes/index-upkeep.ts'
import { lockForWriteSql, type DocumentKey } from '../sql/document-rows.ts'
import { documentsOver } from './documents-over.ts'
import { KnownDocuments } from './known-documents.ts'

/** What documents may have together that are read ahead. */
const AHEAD_BYTES = 4_194_304

/** How many writes there may be, and what their documents may have together: all are kept until the commit, and deletions write others. */
const WRITTEN_MAX = 2000
const WRITTEN_BYTES = 16_777_216

/** Insertions of so many characters are no longer one: others go on between the entries of two. */
const JOINED_CHARACTERS = 100_000

/** What one operation writes, or several that insert. */
type Staged = Required<OtherSteps> & {
  /** The operation of each write; of all, if there is one. */
  readonly operations: readonly number[]
  readonly writes: readonly PlannedWrite[]
}

/**
 * Documents as they are once the writes of several operations are committed: each operation reads what the ones before have
 * written, and all are committed together.
 */
export class StagedDocuments {
  /** They read and write for the operation that has begun. */
  readonly documents: Documents
  /** What the quota is asked for. */
  readonly growth: (Growth & { readonly operation: number })[] = []
  readonly #stored: Documents
  readonly #dialect: Dialect
  readonly #known = new KnownDocuments()
  readonly #stages: Staged[] = []
  readonly #operations = new WeakMap<Error, number>()
  #operation = 0
  #bytes = 0

  constructor(stored: Documents, dialect: Dialect) {
    this.#stored = stored
    this.#dialect = dialect
    this.documents = documentsOver(stored, dialect, this.#known, (...staged) => this.#stage(...staged))
  }

  /** Reads documents by one query, unless they are large. */
  async readAhead(keys: readonly DocumentKey[]): Promise<void> {
    if (keys.length === 0) return
    const rows = await this.#stored.findWithin(keys, { together: AHEAD_BYTES })
    if (rows) this.#known.noteRead(keys, rows)
  }

  /** Names the operation that writes from now on, by its index. */
  begin(operation: number): void {
    this.#operation = operation
  }

  /** The collections of which documents are written. */
  collections(): Set<string> {
    return new Set(this.#known.written.map(({ collection }) => collection))
  }

  /** The documents of a collection that match, in place of the stored ones that do. */
  matching(
    collection: string,
    stored: readonly { readonly _id: string }[],
    matches: (document: Json) => boolean,
  ): unknown[] {
    const others = stored.filter(({ _id: id }) => !this.#known.isWritten({ collection, id }))
    const written = this.#known.writtenIn(collection).map(({ document }) => document)
    return [...others, ...written.filter(matches)]
  }

  /** The operation that an error of the commit is of; undefined if it is of none. */
  operationOf(error: unknown): number | undefined {
    return error instanceof Error ? this.#operations.get(error) : undefined
  }

  /**
   * Commits all writes in the order of their operations.
   *
   * @param others steps around all of them
   * @returns false if a document is not what was read any more
   * @throws as `Documents.writeAll`
   */
  async commit({ first = [], last = [] }: OtherSteps): Promise<boolean> {
    const { written } = this.#known
    // In one order, because batches of the same documents would wait for each other in a circle.
    const locks = this.#dialect === 'postgres' && written.length > 1 ? [lockForWriteSql(written)] : []
    const rows = await this.#stored.writeStages([
      { writes: [], first: [...first, ...locks] },
      ...joined(this.#stages).map((one) => this.#writeStage(one)),
      { writes: [], last },
    ])
    return rows !== undefined
  }

  #stage(writes: readonly PlannedWrite[], { first = [], last = [] }: OtherSteps = {}): void {
    for (const { collection, leaves } of writes)
      for (const { id, left } of leaves) {
        const key = { collection, id }
        const before = this.#known.get(key)?.document
        const [bytes, bytesBefore] = [left, before].map((one) => Buffer.byteLength(one?.body ?? ''))
        this.growth.push({
          operation: this.#operation,
          owner: (left ?? before)?.owner ?? '',
          bytes: bytes! - bytesBefore!,
        })
        this.#bytes += Math.max(bytes!, bytesBefore!)
        if (this.growth.length > WRITTEN_MAX || this.#bytes > WRITTEN_BYTES) throw tooLarge()
        this.#known.noteWritten(key, left)
      }
    this.#stages.push({
      operations: [this.#operation],
      writes,
      first: this.#stepsOf(first),
      last: this.#stepsOf(last),
    })
  }

  /** Steps whose errors are those of the operation that has begun. */
  #stepsOf(steps: readonly Step[]): Step[] {
    const operation = this.#operation
    return steps.map((step) => {
      const { otherwise, ...parts } = withParts(step)
      return otherwise ? { ...parts, otherwise: () => this.#noted(otherwise(), operation) } : step
    })
  }

  #noted(error: ApiError, operation: number): ApiError {
    this.#operations.set(error, operation)
    return error
  }

  #writeStage({ operations, writes, first, last }: Staged): WriteStage {
    const inserted = writes.flatMap((one) => one.inserted ?? [])
    const operationOf = (id: string): number | undefined =>
      operations[writes.findIndex(({ leaves }) => leaves.some((one) => one.id === id))]
    return {
      first,
      last,
      writes: inserted.length > 1 ? [insertionOf(this.#dialect, inserted)] : writes,
      refused: (error, id) => this.#noted(error, operationOf(id) ?? operations[0]!),
    }
  }
}

const tooLarge = (): ApiError =>
  errors.payload_too_large({
    message: `The operations write more than ${WRITTEN_MAX} documents, or 16 MiB of them: send several batches.`,
  })

/** Insertions in a collection that follow each other become one. */
function joined(stages: readonly Staged[]): Staged[] {
  const all: Staged[] = []
  for (const one of stages) {
    const before = all.at(-1)
    const [last, next] = [before?.writes[0], one.writes[0]]
    const isSame = last?.inserted && next?.inserted && last.collection === next.collection
    // What has to be there in front of it may be what the one before inserts.
    if (!isSame || one.first.length > 0 || charactersOf(before!) > JOINED_CHARACTERS) all.push(one)
    else
      all[all.length - 1] = {
        operations: [...before!.operations, ...one.operations],
        first: before!.first,
        writes: [...before!.writes, ...one.writes],
        last: [...before!.last, ...one.last],
      }
  }
  return all
}

const charactersOf = ({ writes }: Staged): number =>
  writes.reduce((sum, { leaves }) => leaves.reduce((all, { left }) => all + left!.body.length, sum), 0)
