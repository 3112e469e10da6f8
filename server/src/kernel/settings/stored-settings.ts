import { deriveKey } from '../../base/crypto.ts'
import { ApiError } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { SealedColumn } from '../secret/sealed.ts'

const PURPOSE = 'settings'
/** So many versions are kept, to go back to. */
const KEPT = 20

/** Options that administrators have set, by their paths: `messaging.smtp.url`. */
export type StoredOptions = Readonly<Record<string, unknown>>

/** A version of them; 0 is that of nothing. */
export type StoredSettings = { readonly version: number; readonly options: StoredOptions }

/** When a version was made, by whom, and what it changed. */
export type SettingsVersion = {
  readonly version: number
  readonly changed: readonly string[]
  readonly createdAt: number
  readonly createdBy: string
}

type Row = { version: number; options: string }

export const SETTINGS_SEALED: SealedColumn = {
  table: 'sixwire_settings',
  key: ['version'],
  column: 'options',
  purpose: PURPOSE,
}

export const NOTHING_STORED: StoredSettings = { version: 0, options: {} }

/** The newest version; that of nothing where there is no table yet. @throws StartError if it was encrypted under another secret */
export async function readStoredSettings(db: Pick<Database, 'get'>, secret: string): Promise<StoredSettings> {
  const newest = sql<Row>`select version, options from sixwire_settings order by version desc limit 1`
  const row = await db.get(newest).catch((error: unknown) => {
    if (error instanceof ApiError) throw error
    return undefined // the database has no tables yet, or older ones
  })
  return row ? { version: row.version, options: opened(row, secret) } : NOTHING_STORED
}

/** The options of an earlier version; undefined if it is not kept any more. */
export async function readVersion(
  db: Pick<Database, 'get'>,
  version: number,
  secret: string,
): Promise<StoredOptions | undefined> {
  const row = await db.get(sql<Row>`select version, options from sixwire_settings where version = ${version}`)
  return row && opened(row, secret)
}

/** The newest version's number; 0 if there is none. */
export const newestVersion = async (db: Pick<Database, 'get'>): Promise<number> =>
  (await db.get(sql<{ version: number }>`select coalesce(max(version), 0) as version from sixwire_settings`))!
    .version

/** The versions that are kept, the newest first. */
export async function listVersions(db: Pick<Database, 'all'>): Promise<SettingsVersion[]> {
  const rows = await db.all(
    sql<{ version: number; changed: string; created_at: number; created_by: string }>`
      select version, changed, created_at, created_by from sixwire_settings order by version desc`,
  )
  return rows.map((row) => ({
    version: row.version,
    changed: JSON.parse(row.changed) as string[],
    createdAt: row.created_at,
    createdBy: row.created_by,
  }))
}

/** Inserts a version. Returns no row if a version with this number exists, because another change was stored first. */
export function insertVersionSql(
  { version, changed, createdAt, createdBy }: SettingsVersion,
  options: StoredOptions,
  secret: string,
): Sql<{ version: number }> {
  const sealed = deriveKey(secret, PURPOSE).seal(JSON.stringify(options))
  return sql`insert into sixwire_settings (version, options, changed, created_at, created_by)
    values (${version}, ${sealed}, ${JSON.stringify(changed)}, ${createdAt}, ${createdBy})
    on conflict (version) do nothing returning version`
}

/** Deletes what is too old to go back to: secrets that were replaced long ago are not kept. */
export const forgetVersionsSql = (newest: number): Sql<never> =>
  sql`delete from sixwire_settings where version <= ${newest - KEPT}`

function opened({ options }: Row, secret: string): StoredOptions {
  try {
    return JSON.parse(deriveKey(secret, PURPOSE).open(options)) as StoredOptions
  } catch {
    throw new StartError(
      'SIXWIRE_SECRET: what is set in the console was encrypted under another secret: set that one again, or give them up by sixwire config --forget all',
    )
  }
}
