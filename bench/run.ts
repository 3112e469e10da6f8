import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { runBackups } from './backups.ts'
import type { Bench } from './bench.ts'
import { runChains } from './chains.ts'
import { startDelay } from './delay.ts'
import { runFair } from './fair.ts'
import { runFiles } from './files.ts'
import { runJobs } from './jobs.ts'
import { openLoad } from './load.ts'
import { describeMachine } from './machine.ts'
import { runMail } from './mail.ts'
import { loadNames, readOptions, type Options, type ScenarioName } from './options.ts'
import { runPay } from './pay.ts'
import type { Postgres } from './postgres.ts'
import { runQueries } from './queries.ts'
import { report, type Results } from './report.ts'
import { runScale } from './scale.ts'
import { sqliteUrl, startServer } from './servers.ts'
import { runSignIns } from './signin.ts'
import { runStarts } from './start.ts'
import { runTiming } from './timing.ts'
import { runWorkloads } from './workloads.ts'

/** Progress on the error output, so that the table stands alone on the other. */
function note(text: string): void {
  const { stderr } = process
  if (stderr.isTTY) stderr.write(`\r\x1b[K${text}`)
  else if (!text.startsWith('seeding')) stderr.write(`${text}\n`)
}

/** The databases lie beside the checkout's own data, on the disk that a user's would be on. */
function makeFolder(): string {
  const data = fileURLToPath(new URL('../data/', import.meta.url))
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(join(data, 'bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function openBench(options: Options, folder: string, postgres: Postgres | undefined): Bench {
  const urls = new Map<string, string>()
  return {
    options,
    folder,
    load: openLoad(options.load, options.seconds, folder),
    subject: options.self ? 'floor' : 'sixwire',
    note,
    databaseUrl: (database) => urls.get(database) ?? sqliteUrl(join(folder, database)),
    async open(program, database, { policy = options.policy, environment, prepare } = {}) {
      if (postgres && !urls.has(database)) {
        const url = await postgres.createDatabase(database)
        urls.set(database, options.delay > 0 ? await startDelay(url, options.delay) : url)
      }
      const home = join(folder, database)
      mkdirSync(home, { recursive: true })
      prepare?.(home)
      return startServer(program, home, policy, urls.get(database), environment)
    },
  }
}

async function run(options: Options): Promise<Results> {
  const folder = makeFolder()
  const postgres =
    options.engine === 'postgres' ? await (await import('./postgres.ts')).startPostgres(folder) : undefined
  try {
    const bench = openBench(options, folder, postgres)
    const { json: _, ...settings } = options
    const faults: string[] = []
    const results: Results = {
      at: new Date().toISOString(),
      machine: describeMachine(folder),
      load: bench.load.name,
      options: settings,
      faults,
    }
    const wants = (...names: ScenarioName[]) => names.some((name) => options.only.includes(name))
    if (wants(...loadNames)) results.workloads = await runWorkloads(bench, faults)
    if (wants('scale')) results.scale = await runScale(bench, faults)
    if (wants('signin')) results.signin = await runSignIns(bench, faults)
    if (wants('fair')) results.fair = await runFair(bench, faults)
    if (wants('queries')) results.queries = await runQueries(bench, faults)
    if (wants('start')) results.start = await runStarts(bench)
    if (wants('mail')) results.mail = await runMail(bench, faults)
    if (wants('pay')) results.pay = await runPay(bench, faults)
    if (wants('chains')) results.chains = await runChains(bench, faults)
    if (wants('backups')) results.backups = await runBackups(bench, faults)
    if (wants('files')) results.files = await runFiles(bench)
    if (wants('jobs'))
      results.jobs = await runJobs(
        options,
        folder,
        postgres && ((name) => postgres.createDatabase(name)),
        note,
      )
    if (wants('timing')) results.timing = await runTiming(bench, faults)
    return results
  } finally {
    await postgres?.stop()
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

try {
  const options = readOptions(process.argv.slice(2))
  if (typeof options === 'string') {
    process.stdout.write(options)
  } else {
    const results = await run(options)
    note('')
    mkdirSync(dirname(options.json), { recursive: true })
    writeFileSync(options.json, JSON.stringify(results, null, 2) + '\n')
    console.log(`${report(results)}\n\n${options.json}`)
    for (const fault of results.faults) console.error(`\nFAULT: ${fault}. These figures do not count.`)
    if (results.faults.length > 0) process.exitCode = 1
  }
} catch (error) {
  console.error(`\nbench: ${(error as Error).message}`)
  process.exit(1) // servers that still run would keep this process; they end with it
}
