import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { loadConfig } from '../app.ts'
import { systemClock } from '../base/clock.ts'
import { errors } from '../base/errors.ts'
import { StartError } from '../base/start-error.ts'
import { requireRow, type Database } from '../db/database.ts'
import { openDatabase, sqliteFileOf } from '../db/open.ts'
import { COMMAND_LINE } from '../http/actor.ts'
import { createAudit } from '../kernel/audit/audit.ts'
import { configFileName } from '../kernel/config/config-file.ts'
import { checkVariables, readSettings, type Settings } from '../kernel/config/config.ts'
import { readSecret, SECRET_FILE } from '../kernel/secret/secret.ts'
import { settableOptions } from '../kernel/settings/settable-options.ts'
import {
  insertVersionSql,
  newestVersion,
  readStoredSettings,
  type StoredOptions,
} from '../kernel/settings/stored-settings.ts'
import { withStoredCause, withStoredOptions } from '../kernel/settings/with-stored-options.ts'
import { checkOptions } from '../kernel/wire/options.ts'
import { checkWebhooks } from '../kernel/events/webhook-option.ts'
import { checkSchedules } from '../kernel/schedule/schedule-option.ts'
import {
  settingsInForce,
  type CheckedConfig,
  type SettingInForce,
} from '../wires/core/settings/settings-in-force.ts'
import { chooseWires, configuredWires, type Config } from '../wires.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, withSettings, type Environment } from './environment.ts'
import { JSON_OPTION } from './option.ts'
import { print, table } from './print.ts'

const VALUE_CHARACTERS = 60
const ALL = 'all'

export const config = defineAction({
  summary: 'Show the settings that are in force, and where each is from',
  options: {
    ...SETTING_OPTIONS,
    ...JSON_OPTION,
    forget: {
      value: 'OPTION',
      description: 'forget what is set of an option in the console; all: of every option',
    },
  },
  details: `Shows what start would run with: from the command line, the environment, .env, sixwire.config.ts, the
console or the default. Secrets are masked; of the texts of your own wires only defaults and the values of an enum
are shown. Options of wires that have no value are left out, and nothing is created.`,
  async run({ options: { json, forget, ...options }, environment }) {
    const written = await configure(process.cwd(), withSettings(environment, options))
    if (forget !== undefined) {
      const left = await withDatabase(written, (db, secret) => forgetOption(db, secret, forget))
      if (left === undefined) throw new StartError('--forget: this installation has no database yet')
      console.log(`Forgotten: ${forget}. Servers that run follow within seconds.`)
      return 0
    }
    const stored = await storedOptions(written)
    const found = await inForce(written, stored)
    print(json, found, () => table(['SETTING', 'VALUE', 'FROM', 'VARIABLE'], found.map(rowOf)))
    return 0
  },
})

type Written = {
  input: Config
  folder: string
  environment: Environment
  settings: Omit<Settings, 'secret'>
}

async function configure(folder: string, environment: Environment): Promise<Written> {
  const input = await loadConfig(folder)
  const all = configuredWires(input)
  checkVariables(
    environment.variables,
    all.flatMap((wire) => Object.keys(wire.variables)),
  )
  return { input, folder, environment, settings: await readSettings(input, environment.variables, folder) }
}

/** What is set in the console; nothing, which is said, if the database cannot be read. */
async function storedOptions(written: Written): Promise<StoredOptions> {
  try {
    const stored = await withDatabase(written, (db, secret) => readStoredSettings(db, secret))
    return stored?.options ?? {}
  } catch (error) {
    console.error(`sixwire: what is set in the console is not shown: ${(error as Error).message}`)
    return {}
  }
}

/** Opens the database; undefined if there is none yet, or no secret. */
async function withDatabase<T>(
  { settings: { databaseUrl, dataDir }, environment }: Written,
  work: (db: Database, secret: string) => Promise<T>,
): Promise<T | undefined> {
  const file = sqliteFileOf(databaseUrl)
  if (file !== undefined && !existsSync(file)) return undefined
  const secret = environment.variables['SIXWIRE_SECRET'] || (await readSecret(join(dataDir, SECRET_FILE)))
  if (!secret) return undefined
  const db = await openDatabase(databaseUrl)
  try {
    return await work(db, secret)
  } finally {
    await db.close()
  }
}

/** @throws StartError if nothing is set of the option */
async function forgetOption(db: Database, secret: string, option: string): Promise<true> {
  const { [option]: value, ...others } = option === ALL ? {} : (await readStoredSettings(db, secret)).options
  if (option !== ALL && value === undefined)
    throw new StartError(`--forget: nothing is set of ${option} in the console`)
  const version = (await newestVersion(db)) + 1
  const entry = { version, changed: [option], createdAt: Date.now(), createdBy: 'command line' }
  await db.batch([
    requireRow(insertVersionSql(entry, others, secret), () =>
      errors.conflict({
        message: '--forget: the settings were changed at the same time: run the command again',
      }),
    ),
    createAudit(systemClock).entrySql(COMMAND_LINE, {
      action: 'settings.changed',
      target: `settings:${version}`,
      after: { forgotten: option },
    }),
  ])
  return true
}

async function inForce(
  { input: file, folder, environment, settings: ofFile }: Written,
  stored: StoredOptions,
): Promise<SettingInForce[]> {
  const { variables } = environment
  const configFile = configFileName(folder) ?? 'sixwire.config.ts'
  const settable = settableOptions(chooseWires(configuredWires(file), ofFile), {
    config: file,
    environment: variables,
    configFile,
  })
  const { config: input, inForce: paths } = withStoredOptions(file, settable, stored)
  const check = async (): Promise<CheckedConfig> => {
    const settings = await readSettings(input, variables, folder)
    return {
      settings,
      input,
      wireOptions: checkOptions(chooseWires(configuredWires(input), settings), variables),
      schedules: await checkSchedules(input.schedule, Date.now()),
      webhooks: checkWebhooks(input.webhooks, settings),
    }
  }
  const checked = await check().catch((error: unknown) => {
    throw withStoredCause(error, settable, paths)
  })
  return settingsInForce(checked, {
    sourceOf: (name) => environment.sourceOf(name),
    configFile,
    isStored: (path) => paths.has(path),
  })
}

function rowOf({ option, variable, value, source }: SettingInForce): string[] {
  const text = typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value)
  const short = text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS - 1)}…` : text
  return [option, short.replaceAll(/\s+/g, ' '), source, variable ?? '']
}
