// The thread that owns a connection: the one writer of the file, or a reader for long scans and snapshots.
import { flushCompileCache } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

import { lowerPriority } from '../base/thread-priority.ts'
import type { MigrationProgress, Row } from './database.ts'
import {
  failedMigration,
  migrationsTable,
  pendingMigrations,
  type AppliedMigration,
  type ChecksummedMigration,
} from './pending-migrations.ts'
import { BUSY_WAIT_MS, SqliteConnection } from './sqlite-connection.ts'
import { faultOf } from './sqlite-faults.ts'
import { loadSqliteFunctions } from './sqlite-functions.ts'
import { joinLines } from './sqlite-lines.ts'
import type {
  ThreadAnswer,
  Group,
  Opening,
  RequestOutcome,
  PackedStatement,
  Report,
  Request,
  ThreadData,
} from './sqlite-protocol.ts'
import type { Statement } from './sql.ts'

const MIGRATION_WAIT_MS = 600_000
const SCANNER_NICENESS = 15

const SAVEPOINT: Statement = { text: 'savepoint operation', params: [] }
const ROLLBACK_TO: Statement = { text: 'rollback to operation', params: [] }
const RELEASE: Statement = { text: 'release operation', params: [] }

const port = parentPort!
const { use, functions: modules } = workerData as ThreadData
const functions = await loadSqliteFunctions(modules)
let opening: Opening
let connection: SqliteConnection
// The event loop and the writer come first, and the threads that hash passwords, whose niceness is 10: beside two scans of
// niceness 5 a hash took five times as long, beside two of 15 a third more.
if (use === 'scanner') lowerPriority(SCANNER_NICENESS)
// The next thread then loads neither a compiler nor what strips types: 6 MB instead of 16.
flushCompileCache()
let pieces: Generator<Uint8Array<ArrayBuffer>, void> | undefined

const failure = (error: unknown): RequestOutcome => ({ fault: faultOf(error, opening.file) })

type PackedOperation = readonly PackedStatement[]

/** An operation of a group failed behind changes of its own, which only a savepoint could undo alone. */
class PartialOperation extends Error {
  readonly outcome: RequestOutcome
  constructor(outcome: RequestOutcome) {
    super('an operation failed in its middle')
    this.outcome = outcome
  }
}

/** @throws PartialOperation for one that fails, unless it has changed nothing before */
function runSteps(texts: Group['texts'], operation: PackedOperation): RequestOutcome {
  const rows: Row[][] = []
  for (const [at, [text, params, requiresRow, each]] of operation.entries()) {
    let failed: RequestOutcome | undefined
    try {
      const answer = connection.run({ text: texts[text]!, params, ...(each && { rows: each }) })
      rows.push(answer)
      if (requiresRow && answer.length === 0) failed = { stepWithoutRow: at }
    } catch (error) {
      // A full disk or a read error can end the whole transaction: then all of the group is rolled back.
      if (!connection.inTransaction) throw error
      failed = { ...failure(error), failedAt: at }
    }
    if (!failed) continue
    // A statement that fails undoes itself, but not what it has done for earlier rows.
    if (at === 0 && !each) return failed
    throw new PartialOperation(failed)
  }
  return { rows }
}

/** Runs one operation of a group, all of it or nothing, without an effect on the others. */
function runAlone(texts: Group['texts'], operation: PackedOperation): RequestOutcome {
  connection.run(SAVEPOINT)
  try {
    return runSteps(texts, operation)
  } catch (error) {
    if (!(error instanceof PartialOperation)) throw error
    connection.run(ROLLBACK_TO)
    return error.outcome
  } finally {
    if (connection.inTransaction) connection.run(RELEASE)
  }
}

/**
 * Commits operations that arrived together with one flush to the disk. Few fail in their middle, and a savepoint copies each
 * page that changes: so there is none until one fails, and then all run again. If the commit fails as a whole (a deferred
 * foreign key, a disk that one of them filled), all of it is rolled back, and each is committed alone.
 */
function commitGroup(group: Group, run = runSteps): RequestOutcome[] {
  const { texts, operations } = group
  try {
    connection.beginWrite()
  } catch (error) {
    return operations.map(() => failure(error))
  }
  try {
    const outcomes = operations.map((operation) => run(texts, operation))
    connection.commitWrite()
    return outcomes
  } catch (error) {
    if (connection.inTransaction) connection.exec('rollback')
    if (operations.length === 1) return [error instanceof PartialOperation ? error.outcome : failure(error)]
    if (error instanceof PartialOperation) return commitGroup(group, runAlone)
    return operations.flatMap((operation) => commitGroup({ texts, operations: [operation] }))
  }
}

/** Makes `sixwire_progress(total)` count the rows of `migration`, of which there are `total`, and report each percent. */
function countRows(migration: string, report: (progress: MigrationProgress) => void): void {
  let rows = 0
  let reported = 0
  connection.addFunction('sixwire_progress', (total) => {
    const percent = Math.floor((++rows / Number(total)) * 100)
    if (percent > reported) report({ migration, percent: (reported = percent) })
    return 1
  })
}

function migrate(
  migrations: readonly ChecksummedMigration[],
  report: (progress: MigrationProgress) => void,
): void {
  // If several processes start at the same time, one migrates; the others wait here and find it done.
  connection.exec(`pragma busy_timeout = ${MIGRATION_WAIT_MS}`)
  connection.beginWrite()
  try {
    connection.exec(migrationsTable)
    const applied = connection.run({
      text: 'select wire, name, checksum from sixwire_migrations',
      params: [],
    })
    const isNew = applied.length === 0
    for (const migration of pendingMigrations(applied as AppliedMigration[], migrations)) {
      const name = `${migration.wire}/${migration.name}`
      if (!isNew) report({ migration: name })
      countRows(name, isNew ? () => undefined : report)
      try {
        connection.exec(migration.text)
      } catch (error) {
        throw failedMigration(migration, error)
      }
      connection.run({
        text: 'insert into sixwire_migrations (wire, name, checksum, applied_at) values (?, ?, ?, ?)',
        params: [migration.wire, migration.name, migration.checksum, Date.now()],
      })
    }
    connection.commitWrite()
  } finally {
    if (connection.inTransaction) connection.exec('rollback')
    connection.exec(`pragma busy_timeout = ${BUSY_WAIT_MS}`)
  }
}

function answer(request: Request): RequestOutcome[] {
  switch (request.kind) {
    case 'group':
      return commitGroup(request.group)
    case 'single':
      return [{ rows: [connection.run(request.statement)] }]
    case 'begin':
      connection.beginWrite()
      return [{ rows: [] }]
    case 'commit':
      connection.commitWrite()
      return [{ rows: [] }]
    case 'exec':
      connection.exec(request.text)
      return [{ rows: [] }]
    case 'migrate':
      migrate(request.migrations, (progress) =>
        port.postMessage({ id: request.id, progress } satisfies Report),
      )
      return [{ rows: [] }]
    case 'lines':
      pieces = joinLines(connection.iterate(request.statement))
      return [{ rows: [] }]
    case 'piece': {
      const next = pieces!.next()
      return [next.done ? {} : { piece: next.value }]
    }
    case 'close':
      try {
        pieces?.return()
        if (use === 'writer') connection.exec('pragma optimize')
      } finally {
        connection.close()
      }
      return [{ rows: [] }]
  }
}

function open(one: Opening): void {
  opening = one
  connection = new SqliteConnection(one.file, use, functions, () => Atomics.load(one.stopFlag, 0) !== 0)
}

port.on('message', (request: Opening | Request) => {
  // What it throws ends the thread.
  if ('file' in request) return open(request)
  let outcomes: RequestOutcome[]
  try {
    outcomes = answer(request)
  } catch (error) {
    outcomes = [failure(error)]
  }
  const transferred = outcomes.flatMap(({ piece }) => (piece ? [piece.buffer] : []))
  port.postMessage({ id: request.id, outcomes } satisfies ThreadAnswer, transferred)
})
