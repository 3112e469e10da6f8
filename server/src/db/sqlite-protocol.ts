import type { MigrationProgress, Row } from './database.ts'
import type { ChecksummedMigration } from './pending-migrations.ts'
import type { SqlScalar, Statement } from './sql.ts'

/** Point reads, long reads, reads of one moment, or writes. Only connections of the last change something. */
export type Use = 'reader' | 'scanner' | 'snapshot' | 'writer'

/** What a thread is started with. */
export type ThreadData = {
  readonly use: Use
  /** Addresses of modules of functions. */
  readonly functions: readonly string[]
}

/** The first message to a thread, and the next one after each `close`: which file the requests that follow are for. */
export type Opening = {
  readonly file: string
  /** Its one number is not 0 while what the thread runs is to be stopped. */
  readonly stopFlag: Int32Array<SharedArrayBuffer>
}

/** Statements that are committed all or not at all; those with `requiresRow` must change or return a row. */
export type Operation = readonly (Statement & { requiresRow?: boolean })[]

/**
 * Operations that are committed together, in the form that is sent to the thread: each text once, because a few
 * statements recur, and each statement as the index of its text, its values, whether it must have an effect, and the rows of
 * `sql.forEach`.
 */
export type Group = {
  readonly texts: readonly string[]
  readonly operations: readonly (readonly PackedStatement[])[]
}

export type PackedStatement = readonly [
  text: number,
  params: SqlScalar[],
  requiresRow: boolean,
  rows: Statement['rows'],
]

export function pack(operations: readonly Operation[]): Group {
  const indexes = new Map<string, number>()
  const indexOf = (text: string): number => {
    const index = indexes.get(text) ?? indexes.size
    indexes.set(text, index)
    return index
  }
  const packedOperations = operations.map((operation) =>
    operation.map(({ text, params, requiresRow = false, rows }): PackedStatement => [
      indexOf(text),
      params,
      requiresRow,
      rows,
    ]),
  )
  return { texts: [...indexes.keys()], operations: packedOperations }
}

/** What the main thread asks of a thread with a connection. */
export type Request = { id: number } & (
  | { kind: 'group'; group: Group }
  | { kind: 'single'; statement: Statement }
  // Of a transaction that writes.
  | { kind: 'begin' }
  | { kind: 'commit' }
  | { kind: 'exec'; text: string }
  | { kind: 'migrate'; migrations: readonly ChecksummedMigration[] }
  // Begins to read lines, which `piece` continues.
  | { kind: 'lines'; statement: Statement }
  | { kind: 'piece' }
  | { kind: 'close' }
)

/** What `node:sqlite` threw: its message, and SQLite's extended result code or 0. */
export type EngineFault = { message: string; errcode: number }

/**
 * The outcome of one operation: the rows of each statement, or the step without the row it requires, or a fault; of
 * `piece` the next piece, or nothing at the end of the lines.
 */
export type RequestOutcome = {
  rows?: Row[][]
  piece?: Uint8Array<ArrayBuffer>
  stepWithoutRow?: number
  fault?: EngineFault
  /** The statement of the operation that the fault is of. */
  failedAt?: number
}

export type ThreadAnswer = { id: number; outcomes: RequestOutcome[] }

/** Comes before the answer, any number of times. */
export type Report = { id: number; progress: MigrationProgress }
