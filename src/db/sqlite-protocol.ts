import type { Migration, Row } from './database.ts'
import type { Statement } from './sql.ts'

/** A reader refuses every statement that would change something. */
export type Use = 'reader' | 'writer'

/** Statements that happen together; `must` ones have to change or return a row. */
export type Operation = readonly (Statement & { must?: boolean })[]

/** What the main thread asks of a thread with a connection. */
export type Request = { id: number } & (
  | { kind: 'group'; operations: readonly Operation[] }
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
