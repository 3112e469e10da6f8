import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { createApp, loadConfig, type App } from '../app.ts'
import { oneLine } from '../base/one-line.ts'
import { StartError } from '../base/start-error.ts'
import { within } from '../base/within.ts'
import { createClient } from '../client.ts'
import { sqliteFileOf } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { readSettings, type Settings } from '../kernel/config/config.ts'
import { fault, findingIf, warning, type Diagnosis, type Finding } from '../kernel/wire/diagnosis.ts'
import { findMove, problemOf } from '../kernel/move/closed-source.ts'
import { SECRET_FILE } from '../kernel/secret/secret.ts'
import { defineAction } from './command.ts'
import { SETTING_OPTIONS, withSettings } from './environment.ts'
import { JSON_OPTION } from './option.ts'
import { plural, print } from './print.ts'

// '' is all, and 'system' whose documents are of nobody. Deleted accounts leave documents.
const ORPHANS = sql<{ documents: number; owners: number }>`
  select coalesce(sum(documents), 0) as documents, count(distinct owner) as owners from store_counts as counted
  where owner not in ('', 'system') and documents > 0
    and not exists (select 1 from auth_users where id = counted.owner)
    and not exists (select 1 from auth_service_keys where id = counted.owner)
    and not exists (select 1 from sixwire_audit where action = 'user.deleted' and target = 'user:' || counted.owner)`

const LONGEST_WAIT_MS = 5_000
const FILE_LIMIT_MS = 600_000
const FAULT_CHARACTERS = 500
const UNUSED = new Set(['0.0.0.0', '::', ''])

type Status = 'ok' | Finding['severity']
type Result = { name: string; about: string; status: Status; findings: readonly Finding[] }

export const doctor = defineAction({
  summary: 'Look for what is wrong with an installation, and say what to do',
  options: { ...SETTING_OPTIONS, ...JSON_OPTION },
  details: `Looks at the settings, the database, the files and the server of this folder, whether it runs or not. Nothing is
changed: no migration runs, nothing is sent. sixwire check asks the providers beside that.
Exits with 1 if there is a fault.`,
  async run({ options: { json, ...settings }, environment }) {
    const { variables } = withSettings(environment, settings)
    const results = await resultsOf(process.cwd(), variables)
    const ok = results.every(({ status }) => status !== 'fault')
    print(json, { ok, checks: results }, () => results.flatMap(linesOf).join('\n'))
    return ok ? 0 : 1
  },
})

async function resultsOf(folder: string, environment: Environment): Promise<Result[]> {
  const config = await loadConfig(folder)
  const settings = await readSettings(config, environment, folder)
  const missing = missingFiles(settings, environment)
  if (missing.length > 0) return [resultOf(INSTALLATION, missing)]
  const app = await createApp({ config, environment, folder, standIns: false, logTo: { write() {} } })
  try {
    const file = app.db.dialect === 'sqlite' ? [await find(fileOf(app), FILE_LIMIT_MS)] : []
    const tables = await find(tablesOf(app))
    // Without tables every other check would say the same.
    if (tables.status === 'fault') return [...file, tables]
    return [
      ...file,
      tables,
      ...(await Promise.all(
        [moveOf(app), serverOf(app), ownersOf(app), ...app.diagnoses()].map((one) => find(one)),
      )),
    ]
  } finally {
    await app.close()
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const INSTALLATION = { name: 'installation', about: 'the files that the first start creates' }

/** What opening the application would create: then it has never run here, or was lost. */
function missingFiles(
  { databaseUrl, dataDir }: Omit<Settings, 'secret'>,
  environment: Environment,
): Finding[] {
  const file = sqliteFileOf(databaseUrl)
  const secret = join(dataDir, SECRET_FILE)
  const isNew = file !== undefined && !existsSync(file)
  if (isNew)
    return [
      fault(
        `there is no database ${file}`,
        'sixwire start creates it; if there was one, see DATABASE_URL and DATA_DIR with sixwire config',
      ),
    ]
  return environment['SIXWIRE_SECRET'] || existsSync(secret)
    ? []
    : [
        fault(
          `there is no secret: neither SIXWIRE_SECRET nor ${secret}`,
          'restore the one of this database, else what is encrypted in it is lost; sixwire start creates one for a new database',
        ),
      ]
}

/** Reads every page, which takes some seconds for each GB. */
const fileOf = ({ db, settings }: App): Diagnosis => ({
  name: 'database file',
  about: 'whether each page of the file of SQLite can be read',
  async find() {
    const rows = await db
      .scan<{ quick_check: string }>(sql`pragma quick_check(1)`, { limitMs: FILE_LIMIT_MS })
      .catch((error: unknown) => [{ quick_check: String((error as Error).cause ?? error) }])
    const { quick_check: answer } = rows[0]!
    return findingIf(answer !== 'ok', () =>
      fault(
        `${sqliteFileOf(settings.databaseUrl)} is damaged: ${oneLine(answer, FAULT_CHARACTERS)}`,
        'put a copy back as docs/backups.md says',
      ),
    )
  },
})

const tablesOf = (app: App): Diagnosis => ({
  name: 'database',
  about: 'whether it answers and has tables',
  async find() {
    await app.db.ping()
    const hasTables = await app.db.get(sql`select id from sixwire_served_policy limit 1`).then(
      () => true,
      () => false,
    )
    return hasTables
      ? []
      : [fault('the database has no tables of this version', 'sixwire start creates or upgrades them')]
  },
})

/** A move that was cut off keeps the database closed. */
const moveOf = ({ db }: App): Diagnosis => ({
  name: 'move',
  about: 'whether the data was moved to another database, or is being moved',
  async find() {
    const move = await findMove(db)
    return move ? [fault(...problemOf(move))] : []
  },
})

/** What a backup of the store leaves where the accounts of its documents are not. */
const ownersOf = ({ db, wires }: App): Diagnosis => ({
  name: 'owners',
  about: 'whether the accounts exist that documents belong to',
  async find() {
    if (!['auth', 'store'].every((name) => wires.includes(name))) return []
    const [found] = await db.scan(ORPHANS)
    const { documents, owners } = found!
    return findingIf(documents > 0, () =>
      warning(
        `${plural(documents, 'document')} of ${plural(owners, 'account')} that ${owners === 1 ? 'does' : 'do'} not exist here`,
        'a backup of the store holds no accounts: move, archive or copy the whole installation instead, as docs/backups.md says',
      ),
    )
  },
})

/** The server of this folder, if one runs. */
const serverOf = ({ db, settings }: App): Diagnosis => ({
  name: 'server',
  about: 'whether the server answers at its address, and is ready',
  async find() {
    const host = UNUSED.has(settings.host) ? 'localhost' : settings.host
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${settings.port}`
    const api = createClient(url, { retries: 0 })
    const signal = AbortSignal.timeout(LONGEST_WAIT_MS)
    try {
      const { status } = await api.call('GET /health', { signal })
      if (status !== 'healthy')
        return [
          fault(`the server at ${url} is ${status}`, 'GET /health names the wire, and the log says why'),
        ]
      await api.call('GET /ready', { signal })
      return []
    } catch (error) {
      const { status, message } = error as { status?: number; message: string }
      if (status !== undefined)
        return [fault(`the server at ${url} is not ready: ${message}`, 'its log says what it waits for')]
      const row = await db.get<{ count: number }>(sql`select count(*) as count from sixwire_processes`)
      return row!.count === 0
        ? []
        : [
            warning(
              `a server is registered in the database, and none answers at ${url}`,
              'see whether it hangs, was killed, or listens at another address (--port, --host)',
            ),
          ]
    }
  },
})

async function find(diagnosis: Diagnosis, limitMs = LONGEST_WAIT_MS): Promise<Result> {
  try {
    return resultOf(diagnosis, await within(limitMs, () => diagnosis.find()))
  } catch (error) {
    const line = oneLine(error instanceof Error ? error.message : String(error), FAULT_CHARACTERS)
    const remedy = error instanceof StartError ? '' : 'sixwire check upgrades an older database and says more'
    return resultOf(diagnosis, [warning(`nothing can be said of it: ${line}`, remedy)])
  }
}

function resultOf({ name, about }: Pick<Diagnosis, 'name' | 'about'>, findings: readonly Finding[]): Result {
  const isFault = findings.some(({ severity }) => severity === 'fault')
  return { name, about, status: isFault ? 'fault' : findings.length > 0 ? 'warning' : 'ok', findings }
}

const linesOf = ({ name, findings }: Result): string[] =>
  findings.length === 0
    ? [`ok       ${name}`]
    : findings.flatMap(({ severity, problem, remedy }) => [
        `${severity.padEnd(9)}${name}: ${problem}`,
        ...(remedy === '' ? [] : [`         ${remedy}`]),
      ])
