import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { startPostgres } from '../server/src/testing/postgres.ts'
import type { Bench, Scenario, Settings } from './bench.ts'
import { readSettings } from './options.ts'
import { databaseOf, openServer } from './servers.ts'
import { tableOf } from './table.ts'

const SCENARIOS = new URL('./scenarios/', import.meta.url)

/** Progress goes to the error output, so that the tables stand alone on the other. */
const note = (text: string): void =>
  void process.stderr.write(`${(performance.now() / 1000).toFixed(0).padStart(5)} s  ${text}\n`)

async function readScenarios(): Promise<Scenario[]> {
  const modules = readdirSync(SCENARIOS)
    .toSorted()
    .map((file) => import(new URL(file, SCENARIOS).href))
  return (await Promise.all(modules)).map((module) => (module as { default: Scenario }).default)
}

/** What the figures are measured with, in one line. */
function describeRun({ engine, documents, seconds, rounds, isQuick }: Settings): string {
  const wrk = /^wrk \S+/.exec(spawnSync('wrk', ['--version'], { encoding: 'utf8' }).stdout ?? '')
  if (!wrk) throw new Error('the load is sent by wrk: install it (apt install wrk, brew install wrk)')
  const machine = `${cpus()[0]?.model}, ${availableParallelism()} cores shared by server and load`
  const system = `${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}, Node ${process.version}, ${wrk[0]}`
  const size = `${rounds} rounds of ${seconds} s, ${documents} documents of about 200 bytes`
  return `${machine}, ${system}; ${engine}, ${size}${isQuick ? ': A QUICK RUN, ITS FIGURES SAY NOTHING' : ''}`
}

/** The databases lie beside the checkout's own data, on the disk that a user's would be on. */
function makeFolder(): string {
  const data = fileURLToPath(new URL('../data/', import.meta.url))
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(join(data, 'bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs one scenario and prints its table. @returns what is wrong with the figures */
async function runScenario(scenario: Scenario, settings: Settings, folder: string, postgresUrl?: string) {
  const { name, summary } = scenario
  const faults: string[] = []
  const endings: (() => unknown)[] = []
  const bench: Bench = {
    settings,
    folder,
    note: (text) => note(`${name}: ${text}`),
    fault: (text) => void faults.push(text),
    after: (work) => void endings.push(work),
    async open(program, database, start) {
      const title = `${name}-${database}`
      const url = postgresUrl === undefined ? undefined : await databaseOf(postgresUrl, title)
      const server = await openServer(program, join(folder, title), url, start)
      endings.push(() => server.stop())
      return server
    },
  }
  try {
    bench.note('preparing')
    const rows = await Array.fromAsync(scenario.run(bench, await scenario.prepare(bench)))
    console.log(`\n## ${name}: ${summary}\n\n${tableOf(rows)}`)
  } finally {
    for (const work of endings.toReversed()) await work()
  }
  for (const fault of faults) console.log(`\nFAULT: ${fault}. These figures do not count.`)
  return faults
}

async function runAll(settings: Settings, scenarios: readonly Scenario[]): Promise<void> {
  console.log(describeRun(settings))
  const folder = makeFolder()
  const postgres = settings.engine === 'postgres' ? await startPostgres({ isDurable: true }) : undefined
  try {
    for (const scenario of scenarios.filter(({ name }) => settings.only.includes(name)))
      if ((await runScenario(scenario, settings, folder, postgres?.url)).length > 0) process.exitCode = 1
  } finally {
    await postgres?.stop()
  }
}

// Servers that still run end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

try {
  const scenarios = await readScenarios()
  const settings = readSettings(process.argv.slice(2), scenarios)
  if (typeof settings === 'string') process.stdout.write(settings)
  else await runAll(settings, scenarios)
} catch (error) {
  console.error(`bench: ${(error as Error).stack}`)
  process.exit(1)
}
