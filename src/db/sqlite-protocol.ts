import type { Migration, Row } from './database.ts'
import type { SqlScalar, Statement } from './sql.ts'

/** Point reads, long reads, or writes. Both kinds of reader refuse every statement that would change something. */
export type Use = 'reader' | 'scanner' | 'writer'

/** Statements that happen together; those with `requiresRow` have to change or return a row. */
export type Operation = readonly (Statement & { requiresRow?: boolean })[]

/**
 * Operations that are committed together, as they cross to the thread: each text once, because the same few statements
 * come again and again, and each statement as the place of its text, its values, and whether it must have an effect.
 */
export type Group = {
  readonly texts: readonly string[]
  readonly operations: readonly (readonly PackedStatement[])[]
}

export type PackedStatement = readonly [text: number, params: SqlScalar[], requiresRow: boolean]

export function pack(operations: readonly Operation[]): Group {
  const places = new Map<string, number>()
  const placeOf = (text: string): number => {
    const place = places.get(text) ?? places.size
    places.set(text, place)
    return place
  }
  const packed = operations.map((operation) =>
    operation.map(({ text, params, requiresRow = false }): PackedStatement => [
      placeOf(text),
      params,
      requiresRow,
    ]),
  )
  return { texts: [...places.keys()], operations: packed }
}

/** What the main thread asks of a thread with a connection. */
export type Request = { id: number } & (
  | { kind: 'group'; group: Group }
  | { kind: 'single'; statement: Statement }
  | { kind: 'exec'; text: string }
  | { kind: 'migrate'; migrations: readonly Migration[] }
  | { kind: 'close' }
)

/** What `node:sqlite` threw: its message, and SQLite's extended result code or 0. */
export type Fault = { message: string; errcode: number }

/** How one operation ended: rows of each statement, or the step that found nothing, or the engine's fault. */
export type Outcome = {
  rows?: Row[][]
  unmet?: number
  fault?: Fault
}

export type Answer = { id: number; outcomes: Outcome[] }
