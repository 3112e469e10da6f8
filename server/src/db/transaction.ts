import { AsyncLocalStorage } from 'node:async_hooks'

import { withParts, type Database, type Step, type Transaction } from './database.ts'
import type { Row, Sql } from './sql.ts'

const TRANSACTION_LIMIT_MS = 10_000

/** The transaction took too long: it blocks others while it is open. */
export class TransactionTimeout extends Error {
  override name = 'TransactionTimeout'
}

/** The transaction that the running code belongs to. */
const current = new AsyncLocalStorage<{ db: Database; open: boolean }>()

/**
 * Refuses a write outside the transaction that the running code belongs to: on SQLite it would wait for the end of the
 * transaction, which waits for it, and on PostgreSQL it would stay if the transaction is rolled back.
 */
export function refuseInside(db: Database): void {
  const transaction = current.getStore()
  if (transaction?.open && transaction.db === db)
    throw new Error('inside a transaction, use its tx, not the database itself')
}

/**
 * Runs the work of a transaction, with the same rules on both engines: a statement that fails rolls the transaction
 * back, even if the work catches its error, because PostgreSQL would roll back silently what SQLite would commit; and no
 * statement reaches the connection once the transaction has ended.
 * The caller commits if this resolves and rolls back if it rejects.
 *
 * @param statement runs one statement on the transaction's connection
 * @param limitMs how long the work may take
 * @returns `committed`, which the caller must call once it has committed
 */
export async function runWork<T>(
  db: Database,
  statement: (query: Sql<unknown>) => Promise<Row[]>,
  work: (tx: Transaction) => Promise<T>,
  limitMs = TRANSACTION_LIMIT_MS,
): Promise<{ result: T; committed: () => void }> {
  const { dialect } = db
  const transaction = { db, open: true }
  let failure: { error: unknown } | undefined
  let last: Promise<unknown> = Promise.resolve()

  const afterwards: (() => void)[] = []

  async function runOne(step: Step<unknown>): Promise<Row[]> {
    if (!transaction.open) throw new Error('this transaction has ended')
    if (failure) throw failure.error
    try {
      const { query, otherwise, committed } = withParts(step)
      const rows = await statement(query)
      if (otherwise && rows.length === 0) throw otherwise()
      if (committed) afterwards.push(committed)
      return rows
    } catch (error) {
      failure ??= { error }
      throw error
    }
  }
  const run = <R>(step: Step<R>): Promise<R[]> => {
    const rows = last.then(() => runOne(step))
    last = rows.catch(() => undefined)
    return rows as Promise<R[]>
  }
  async function runAll(): Promise<T> {
    const result = await work({
      dialect,
      all: run,
      write: run,
      get: async (query) => (await run(query))[0],
    })
    await last // includes statements that the work did not wait for
    if (failure) throw failure.error
    return result
  }

  const working = current.run(transaction, runAll)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TransactionTimeout(`the transaction was open for more than ${limitMs / 1000} s`)),
      limitMs,
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
