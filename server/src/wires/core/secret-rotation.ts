import type { Clock } from '../../base/clock.ts'
import { deriveKey } from '../../base/crypto.ts'
import { errors } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { requireRow, type Database, type StepWith } from '../../db/database.ts'
import { sql, type Sql, type SqlScalar } from '../../db/sql.ts'
import { COMMAND_LINE } from '../../http/actor.ts'
import { createAudit } from '../../kernel/audit/audit.ts'
import { recordRotationSql, type SealedColumn } from '../../kernel/secret/sealed.ts'

const RETENTION_MS = 24 * 3_600_000
// Every server reads this job's row each minute; a little later than that none is running.
const HEARTBEAT = 'every-sixwire.clean'
const LATE_MS = 10_000

/** How many values of a column are encrypted, and how many of them with neither secret. */
export type Resealed = { column: SealedColumn; rows: number; unreadable: number }

/** A value with its row, as it is and as it will be. */
type Change = { where: Sql; column: SealedColumn; before: string; after: string }

/**
 * Refuses while a server may be running on the database: it would go on with the secret that it was started with.
 *
 * @throws StartError with how long to wait
 */
export async function refuseWhileServed(db: Database, now: number): Promise<void> {
  const row = await db.get<{ run_at: number }>(sql`select run_at from sixwire_jobs where id = ${HEARTBEAT}`)
  const leftMs = (row?.run_at ?? 0) + LATE_MS - now
  if (leftMs > 0)
    throw new StartError(
      `a server was running on this database a moment ago: stop all servers, and try again in ${Math.ceil(leftMs / 1000)} seconds, ` +
        'or add --stopped if none is running',
    )
}

/**
 * Refuses while wires that have tables are not loaded: nobody knows what they have encrypted, and it would stay as it is.
 *
 * @param loaded the names of the wires that are loaded
 * @throws StartError with the names of the others
 */
export async function refuseWithoutWires(db: Database, loaded: Iterable<string>): Promise<void> {
  const names = new Set([...loaded, 'sixwire', 'sandbox'])
  const rows = await db.all<{ wire: string }>(sql`select distinct wire from sixwire_migrations order by wire`)
  const missing = rows.map(({ wire }) => wire).filter((wire) => !names.has(wire))
  if (missing.length > 0)
    throw new StartError(
      `SIXWIRE_WIRES: the database has tables of ${missing.join(', ')}, not loaded here: what is encrypted in them would be lost. ` +
        'Load all wires for the rotation, or add --keep-unreadable if these are not used any more. Nothing was changed',
    )
}

/**
 * Encrypts everything under another secret, all or nothing. No server may be running.
 *
 * @param options.from the secret now
 * @param options.isDryRun whether nothing is changed
 * @param options.keepsUnreadable whether values that `from` does not decrypt are left as they are
 * @throws StartError if `from` does not decrypt a value, or a value is changed at the same time
 */
export async function reseal(
  { db, clock }: { db: Database; clock: Clock },
  columns: readonly SealedColumn[],
  options: { from: string; to: string; isDryRun: boolean; keepsUnreadable: boolean },
): Promise<Resealed[]> {
  const { from, to, isDryRun, keepsUnreadable } = options
  const results: Resealed[] = []
  const changes: Change[] = []
  for (const column of columns) {
    const rows = await readColumn(db, column)
    const [old, next] = [deriveKey(from, column.purpose), deriveKey(to, column.purpose)]
    let unreadable = 0
    for (const { where, before } of rows)
      try {
        changes.push({ where, column, before, after: next.seal(old.open(before)) })
      } catch {
        unreadable++
      }
    results.push({ column, rows: rows.length, unreadable })
  }
  const faults = results.filter(({ unreadable }) => unreadable > 0)
  if (faults.length > 0 && changes.length === 0)
    throw new StartError(
      'SIXWIRE_SECRET: the database was encrypted with another secret: restore that secret. Nothing was changed',
    )
  if (faults.length > 0 && !keepsUnreadable) {
    const places = faults.map(({ column, unreadable }) => `${unreadable} in ${column.table}.${column.column}`)
    throw new StartError(
      `some values were encrypted with another secret (${places.join(', ')}), and are of no use: add --keep-unreadable to leave them as they are. Nothing was changed`,
    )
  }
  if (isDryRun) return results
  const now = clock.now()
  const isChanged = errors.conflict()
  try {
    await db.batch([
      changes.map((change) => updateSql(change, () => isChanged)),
      columns.flatMap(({ table, retiredAt }) =>
        retiredAt === undefined
          ? []
          : [
              sql`update ${sql.literal(table)} set ${sql.literal(retiredAt)} = ${now}
                  where ${sql.literal(retiredAt)} is null`,
            ],
      ),
      recordRotationSql(from, to, now, RETENTION_MS),
      createAudit(clock).entrySql(COMMAND_LINE, { action: 'secret.rotated', after: countsOf(results) }),
    ])
  } catch (error) {
    if (error !== isChanged) throw error
    throw new StartError(
      'a value was changed meanwhile: stop all servers, then try again. Nothing was changed',
    )
  }
  return results
}

const countsOf = (resealed: readonly Resealed[]): object =>
  Object.fromEntries(resealed.map(({ column: { table, column }, rows }) => [`${table}.${column}`, rows]))

async function readColumn(
  db: Database,
  { table, key, column }: SealedColumn,
): Promise<{ where: Sql; before: string }[]> {
  const names = sql.literal([...key, column].join(', '))
  const value = sql.literal(column)
  const rows = await db.scan<Record<string, SqlScalar>>(
    sql`select ${names} from ${sql.literal(table)} where ${value} is not null`,
  )
  return rows.map((row) => ({
    where: sql.join(
      key.map((name) => sql`${sql.literal(name)} = ${row[name]!}`),
      ' and ',
    ),
    before: String(row[column]),
  }))
}

const updateSql = (
  { where, column: { table, column }, before, after }: Change,
  otherwise: Parameters<typeof requireRow>[1],
): StepWith =>
  requireRow(
    sql`update ${sql.literal(table)} set ${sql.literal(column)} = ${after}
        where ${where} and ${sql.literal(column)} = ${before}`,
    otherwise,
  )
