import { errors } from '../../../base/errors.ts'
import { ConstraintError, type Database } from '../../../db/database.ts'
import { sql, type Dialect, type Sql } from '../../../db/sql.ts'

const REASON = 'the store is being restored'
const RETRY_AFTER_S = 5

const TABLES = ['documents', 'files'] as const
const WRITES = ['insert', 'update', 'delete'] as const

/**
 * The statements that make the tables refuse all writes, on every replica: as triggers they hold for writers that have
 * read everything else before. Reading goes on. On PostgreSQL the triggers exist and are enabled here, which waits for
 * writers and blocks no reader, unlike creating and dropping them.
 */
export const closeGateSql: Record<Dialect, readonly Sql[]> = {
  sqlite: TABLES.flatMap((table) =>
    WRITES.map((write) =>
      sql.literal(`
        create trigger if not exists store_${table}_gate_${write} before ${write} on store_${table}
        begin select raise(abort, '${REASON}'); end`),
    ),
  ),
  postgres: TABLES.map((table) =>
    sql.literal(`alter table store_${table} enable trigger store_${table}_gate`),
  ),
}

/** The statements that let writes through again. */
export const openGateSql: Record<Dialect, readonly Sql[]> = {
  sqlite: TABLES.flatMap((table) =>
    WRITES.map((write) => sql.literal(`drop trigger if exists store_${table}_gate_${write}`)),
  ),
  postgres: TABLES.map((table) =>
    sql.literal(`alter table store_${table} disable trigger store_${table}_gate`),
  ),
}

function refuse(error: unknown): never {
  if (error instanceof ConstraintError && error.kind === 'trigger' && error.message === REASON)
    throw errors.unavailable({
      message: 'A backup is being restored, so nothing can be changed: try again when it is done.',
      retryAfter: RETRY_AFTER_S,
    })
  throw error
}

/** The database, with UNAVAILABLE (503) for a write that the closed gate refuses. */
export function refusedWhileRestoring(db: Database): Database {
  const refusing = <T>(write: Promise<T>): Promise<T> => write.catch(refuse)
  return {
    dialect: db.dialect,
    get: (query) => db.get(query),
    all: (query) => db.all(query),
    scan: (query, options) => db.scan(query, options),
    write: (query) => refusing(db.write(query)),
    batch: (steps) => refusing(db.batch(steps)),
    transaction: (work, options) => refusing(db.transaction(work, options)),
    snapshot: (work) => db.snapshot(work),
    load: () => db.load(),
    revision: () => db.revision(),
    listen: (channel, heard) => db.listen(channel, heard),
    notify: (channel) => db.notify(channel),
    ping: () => db.ping(),
    migrate: (migrations, report) => db.migrate(migrations, report),
    close: () => db.close(),
  }
}
