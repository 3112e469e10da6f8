import type { Snapshot } from './database.ts'
import type { Row, Sql } from './sql.ts'

/** A connection of its own, in a transaction that reads and sees one moment. */
export type SnapshotConnection = {
  /** Takes the snapshot. */
  begin(): Promise<void>
  rows(query: Sql<unknown>): Promise<Row[]>
  lines(query: Sql<{ line: string }>): AsyncIterable<Buffer>
  /** Ends what runs on it. May be called more than once. */
  close(): Promise<void>
}

/** Runs the work of a snapshot, with the same rules on both engines, and closes the connection. */
export async function runSnapshot<T>(
  connection: SnapshotConnection,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  let state: 'open' | 'reading lines' | 'ended' = 'open'
  function refuseUnlessOpen(): void {
    if (state === 'ended') throw new Error('this snapshot has ended')
    if (state === 'reading lines') throw new Error('read the lines of a snapshot to their end first')
  }
  async function all(query: Sql<unknown>): Promise<Row[]> {
    refuseUnlessOpen()
    return connection.rows(query)
  }
  async function* lines(query: Sql<{ line: string }>): AsyncGenerator<Buffer> {
    refuseUnlessOpen()
    state = 'reading lines'
    let isWhole = false
    try {
      yield* connection.lines(query)
      isWhole = true
    } finally {
      // What is left could be gigabytes, and PostgreSQL can stop sending them only by ending the transaction.
      if (state === 'reading lines') state = isWhole ? 'open' : 'ended'
    }
  }
  const readAll = all as Snapshot['all']
  try {
    await connection.begin()
    return await work({ all: readAll, get: async (query) => (await readAll(query))[0], lines })
  } finally {
    state = 'ended'
    await connection.close()
  }
}
