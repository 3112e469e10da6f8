import { AsyncLocalStorage } from 'node:async_hooks'

import { withParts, type Database, type Step, type Transaction } from './database.ts'
import type { Row, Sql } from './sql.ts'

const LIMIT_MS = 10_000

/** The work went on for too long: what it holds is held by nobody else meanwhile. */
export class TransactionTimeout extends Error {
  override name = 'TransactionTimeout'
}

/** Whose transaction the running code is a part of. */
const current = new AsyncLocalStorage<{ db: Database; open: boolean }>()

/**
 * Refuses a write past the transaction that the running code is a part of: on SQLite it would wait for the end
 * of that transaction, which waits for it, and on PostgreSQL it would be kept where the transaction is undone.
 */
export function refuseInside(db: Database): void {
  const transaction = current.getStore()
  if (transaction?.open && transaction.db === db)
    throw new Error('inside a transaction, use what the transaction is given, not the database itself')
}

/**
 * Runs the program between the statements of a transaction, with the same rules on both engines:
 * a refused statement dooms the transaction, also where the program catches its error, because PostgreSQL would
 * undo in silence what SQLite would keep; and nothing reaches the connection once the transaction is over.
 * The caller commits if this resolves and rolls back if it rejects.
 *
 * @param statement runs one statement on the transaction's connection
 * @returns `committed`: to be called once it is committed
 */
export async function runWork<T>(
  db: Database,
  statement: (query: Sql<unknown>) => Promise<Row[]>,
  work: (tx: Transaction) => Promise<T>,
): Promise<{ result: T; committed: () => void }> {
  const { dialect } = db
  const transaction = { db, open: true }
  let refused: { error: unknown } | undefined
  let last: Promise<unknown> = Promise.resolve()

  const afterwards: (() => void)[] = []

  async function runOne(step: Step<unknown>): Promise<Row[]> {
    if (!transaction.open) throw new Error('this transaction has ended')
    if (refused) throw refused.error
    try {
      const { query, otherwise, committed } = withParts(step)
      const rows = await statement(query)
      if (otherwise && rows.length === 0) throw otherwise()
      if (committed) afterwards.push(committed)
      return rows
    } catch (error) {
      refused ??= { error }
      throw error
    }
  }
  const run = <R>(step: Step<R>): Promise<R[]> => {
    const turn = last.then(() => runOne(step))
    last = turn.catch(() => undefined)
    return turn as Promise<R[]>
  }
  async function whole(): Promise<T> {
    const result = await work({
      dialect,
      all: run,
      write: run,
      get: async (query) => (await run(query))[0],
    })
    await last // also statements that the program did not wait for
    if (refused) throw refused.error
    return result
  }

  const working = current.run(transaction, whole)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TransactionTimeout(`the transaction was open for more than ${LIMIT_MS / 1000} s`)),
      LIMIT_MS,
    )
  })
  try {
    const result = await Promise.race([working, late])
    return { result, committed: () => afterwards.forEach((call) => call()) }
  } finally {
    transaction.open = false
    clearTimeout(timer)
  }
}
