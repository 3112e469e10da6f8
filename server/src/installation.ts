import { StartError } from './base/start-error.ts'
import type { Database } from './db/database.ts'
import { sql, type Dialect } from './db/sql.ts'
import { checkVariables, readSettings, type Settings, type Variables } from './kernel/config/config.ts'
import type { Tables } from './kernel/move/copy-tables.ts'
import { FRAME_COPIES } from './kernel/move/frame-copies.ts'
import { checkOptions } from './kernel/wire/options.ts'
import type { TableCopies } from './kernel/wire/table-copy.ts'
import type { ConfiguredWire } from './kernel/wire/wire.ts'
import { readAllMigrations } from './start.ts'
import { chooseWires, configuredWires, type Config } from './wires.ts'

/** The wires whose migrations a database has. */
export async function wiresIn(db: Pick<Database, 'all'>): Promise<string[]> {
  const rows = await db.all(sql<{ wire: string }>`select distinct wire from sixwire_migrations order by wire`)
  return rows.map(({ wire }) => wire)
}

/**
 * The tables of wires, as an engine has them.
 *
 * @param found the wires whose tables are to be copied
 * @throws StartError if one of them is not loaded
 */
export async function tablesOf(
  wires: readonly ConfiguredWire[],
  found: readonly string[],
  dialect: Dialect,
): Promise<Tables> {
  const others = found.filter((name) => name !== 'sixwire' && !wires.some((wire) => wire.name === name))
  const sandbox = others.includes('sandbox') ? [(await import('sixwire-sandbox')).SANDBOX_TABLES] : []
  const missing = others.filter((name) => name !== 'sandbox')
  if (missing.length > 0)
    throw new StartError(
      `SIXWIRE_WIRES: there are tables of ${missing.join(', ')}, not loaded here, and they would be left behind: load all wires`,
    )
  return {
    migrations: await readAllMigrations([...wires, ...sandbox], dialect),
    copies: Object.assign({}, FRAME_COPIES, ...wires.map(({ tableCopies }) => tableCopies)) as TableCopies,
  }
}

/** What a configuration says of an installation that is not there yet. */
export type ConfiguredInstallation = {
  readonly settings: Omit<Settings, 'secret'>
  readonly wires: readonly ConfiguredWire[]
  /** The checked options of a wire. */
  readonly optionsOf: (name: string) => unknown
}

/** Reads a configuration without a database, and without a secret. @throws StartError with what is wrong in it */
export async function readInstallation(
  config: Config,
  environment: Variables,
  folder: string,
): Promise<ConfiguredInstallation> {
  const all = configuredWires(config)
  checkVariables(
    environment,
    all.flatMap(({ variables }) => Object.keys(variables)),
  )
  const settings = await readSettings(config, environment, folder)
  const wires = chooseWires(all, settings)
  const options = checkOptions(wires, environment)
  return {
    settings,
    wires,
    optionsOf: (name) => options.get(wires.find((wire) => wire.name === name)!),
  }
}
