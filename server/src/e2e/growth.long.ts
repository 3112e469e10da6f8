// Cost that grows with use is bounded and told: a simulated day of mixed load, and a year after it in which nobody comes.
// GROWTH_SEED repeats a run.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { identifier, readCatalogue } from '../db/catalogue.ts'
import type { Database } from '../db/database.ts'
import { openDatabase } from '../db/open.ts'
import { sql } from '../db/sql.ts'
import { eachEngine, temporaryFolder, type Engine } from '../testing/engines.ts'
import { until } from '../testing/until.ts'
import { documentedTables, type DocumentedTables } from './documented-tables.fixture.ts'
import { endLoad, runStep, startLoad, type Load } from './growth-load.fixture.ts'

const HOURS = 24
const STEPS_PER_HOUR = 6
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Days after the load, each beyond a time that the documentation says. */
const DAYS_LATER = [3, 9, 35, 95, 190, 370]
/** What may be left of that, beside rows that the server writes without any load. */
const LEFT_MAX = 5
const OWN_ROWS: Readonly<Record<string, number>> = {
  sixwire_audit: 60,
  sixwire_levels: 60,
  sixwire_log: 60,
  sixwire_log_hours: 20,
}
/** Bytes by which the heap may grow in the last third of the day: about 2 KB for each call. */
const HEAP_MAX = 4_000_000
/** Its rows are deleted by the clock of the database, which no test moves. */
const BY_DATABASE_CLOCK = 'auth_caller_changes'
/** Of what is kept as long as it is of use, the rows that count nothing go with their accounts. */
const COUNTERS = ['sixwire_counts', 'sixwire_facet_counts']

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

type Rows = ReadonlyMap<string, number>

/** What a server takes at one moment. Files are counted by folder; `database` is in bytes. */
type Sample = {
  readonly rows: Rows
  readonly taken: Readonly<Record<string, number>>
}

async function rowsOf(db: Database): Promise<Rows> {
  const rows = new Map<string, number>()
  for (const { name, isVirtual } of (await readCatalogue(db, db.dialect)).values()) {
    if (isVirtual) continue
    const [row] = await db.all(sql<{ n: number }>`select count(*) as n from ${sql.literal(identifier(name))}`)
    rows.set(name, row!.n)
  }
  return rows
}

async function bytesOf(db: Database): Promise<number> {
  const [row] = await db.all<{ bytes: number }>(
    db.dialect === 'sqlite'
      ? sql`select page_count * page_size as bytes from pragma_page_count, pragma_page_size`
      : sql`select pg_database_size(current_database()) as bytes`,
  )
  return row!.bytes
}

/** The files of a data folder and their bytes, by the folder in it. */
async function filesIn(folder: string): Promise<Record<string, number>> {
  const taken: Record<string, number> = { folders: 0 }
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const [top = ''] = relative(folder, path).split(sep)
    if (entry.isDirectory()) taken['folders']!++
    if (!entry.isFile() || top.startsWith('sixwire.db')) continue
    // A job may delete it at this moment.
    const bytes = await stat(path).then(
      ({ size }) => size,
      () => 0,
    )
    taken[`files of ${top}`] = (taken[`files of ${top}`] ?? 0) + 1
    taken[`bytes of ${top}`] = (taken[`bytes of ${top}`] ?? 0) + bytes
  }
  return taken
}

async function sampleOf(db: Database, folder: string): Promise<Sample> {
  collectGarbage()
  return {
    rows: await rowsOf(db),
    taken: {
      heap: process.memoryUsage().heapUsed,
      descriptors: (await readdir('/proc/self/fd')).length,
      timers: process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length,
      database: await bytesOf(db),
      ...(await filesIn(folder)),
    },
  }
}

/** Waits until no job is due or runs. Those that follow a chain run all the time. */
const quiet = ({ app: { clock } }: Load, db: Database): Promise<void> =>
  until(async () => {
    const row = await db.get(sql`
      select 1 as one from sixwire_jobs where kind not like 'onchain.follow-%'
        and (claimed_by is not null or (state = 'ready' and run_at <= ${clock.now()})) limit 1`)
    return row === undefined
  })

/** The time passes, and what is due by then is done. */
async function pass(load: Load, db: Database, ms: number): Promise<void> {
  await quiet(load, db)
  load.app.clock.advance(ms)
  await quiet(load, db)
}

/** A day of load, with a sample after each hour. */
async function runDay(load: Load, db: Database, folder: string): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let step = 0; step < HOURS * STEPS_PER_HOUR; step++) {
    await runStep(load, step, STEPS_PER_HOUR)
    await pass(load, db, HOUR_MS / STEPS_PER_HOUR)
    if ((step + 1) % STEPS_PER_HOUR === 0) samples.push(await sampleOf(db, folder))
  }
  return samples
}

/** What the newest rows are kept of: both readers of a chain, both kinds of backups. */
const OF_EACH = 2

/** Whether rows go so soon that there are not more of them in the third part of a day than in the second. */
const isShort = ({ keptMs = 0, isKept, newest }: DocumentedTables): boolean =>
  !isKept && newest === undefined && keptMs <= 8 * HOUR_MS

/** Of the three parts of a day: what it had at the end, and the most that it had. */
function thirdsOf(values: readonly number[]): { end: number; most: number }[] {
  const part = values.length / 3
  return [0, 1, 2].map((at) => {
    const own = values.slice(at * part, (at + 1) * part)
    return { end: own.at(-1)!, most: Math.max(...own) }
  })
}

/** What is wrong with the heap. Of three hours the least counts: garbage that is left at one moment is no growth. */
function heapGrowthOf(values: readonly number[]): string[] {
  const least = values.map((_one, at) => Math.min(...values.slice(Math.max(0, at - 2), at + 1)))
  const [, second, third] = thirdsOf(least)
  return third!.end <= second!.end + HEAP_MAX ? [] : [`heap grows: ${values.join(' ')}`]
}

/** What is wrong if there is more than `slack` beyond what there was in the second part of a day. */
function growthOf(name: string, values: readonly number[], slack: number): string[] {
  const [, second, third] = thirdsOf(values)
  return third!.most <= second!.most + slack ? [] : [`${name} grows: ${values.join(' ')}`]
}

/** What is wrong if it grows faster than before: the load is even, so what grows with it grows evenly. */
function accelerationOf(name: string, values: readonly number[]): string[] {
  const [first, second, third] = thirdsOf(values)
  const [before, after] = [second!.end - first!.end, third!.end - second!.end]
  return after <= before * 1.15 + 8 ? [] : [`${name} grows faster and faster: ${values.join(' ')}`]
}

function assertBounded(samples: readonly Sample[], documented: readonly DocumentedTables[]): void {
  const taken = (name: string): number[] => samples.map((one) => one.taken[name] ?? 0)
  const ofTables = documented.flatMap((one) =>
    one.tables.flatMap((name) => {
      const values = samples.map(({ rows }) => rows.get(name) ?? 0)
      const most = Math.max(...values)
      if (one.newest !== undefined && most > one.newest * OF_EACH)
        return [`${name} has ${most} rows: ${one.deleted}`]
      const growth = growthOf(name, values, 8 + most / 4)
      // What is kept may grow, but not faster than before.
      return growth.length > 0 && (!isShort(one) || name === BY_DATABASE_CLOCK)
        ? accelerationOf(name, values)
        : growth
    }),
  )
  assert.deepEqual(
    [
      ...ofTables,
      ...heapGrowthOf(taken('heap')),
      ...['descriptors', 'timers'].flatMap((name) => growthOf(name, taken(name), 8)),
      ...['files of uploads', 'files of backups'].flatMap((name) => growthOf(name, taken(name), 16)),
    ],
    [],
  )
}

/** After each of the times that the documentation says, the rows are gone; and none goes before. */
async function assertDeleted(
  load: Load,
  db: Database,
  documented: readonly DocumentedTables[],
): Promise<void> {
  const end = load.app.clock.now()
  const had = await rowsOf(db)
  for (const days of DAYS_LATER) {
    await pass(load, db, end + days * DAY_MS - load.app.clock.now())
    // Each job that deletes has run once more by then.
    await pass(load, db, 2 * HOUR_MS)
    const left = await rowsOf(db)
    const faults = documented.flatMap(({ tables, keptMs = Infinity, isKept, isLazy, deleted }) =>
      tables.flatMap((name) => {
        const [before, now] = [had.get(name) ?? 0, left.get(name) ?? 0]
        const isOver = keptMs + 2 * DAY_MS <= days * DAY_MS && !isLazy && name !== BY_DATABASE_CLOCK
        const isRight = isKept
          ? now >= before || COUNTERS.includes(name)
          : !isOver || now <= (OWN_ROWS[name] ?? LEFT_MAX)
        return isRight ? [] : [`${name} has ${now} of ${before} rows: ${deleted}`]
      }),
    )
    assert.deepEqual(faults, [], `${days} days later`)
  }
}

function report(t: TestContext, samples: readonly Sample[]): void {
  const names = new Set(samples.flatMap(({ rows, taken }) => [...rows.keys(), ...Object.keys(taken)]))
  const ends = [1, samples.length / 3, (samples.length * 2) / 3, samples.length]
  const at = ends.map((hour) => samples[hour - 1]!)
  for (const name of [...names].toSorted())
    t.diagnostic(`${name}: ${at.map(({ rows, taken }) => rows.get(name) ?? taken[name] ?? 0).join(' ')}`)
}

async function simulate(t: TestContext, engine: Engine): Promise<void> {
  const seed = Number(process.env['GROWTH_SEED'] ?? randomInt(2 ** 31))
  t.diagnostic(`GROWTH_SEED=${seed}`)
  const folder = await temporaryFolder(t)
  const databaseUrl =
    engine.name === 'sqlite' ? `sqlite:${join(folder, 'sixwire.db')}` : await engine.migratedUrl()
  const load = await startLoad(t, engine, { seed, dataDir: folder, databaseUrl })
  const db = await openDatabase(databaseUrl)
  t.after(() => db.close())
  const documented = await documentedTables()
  const samples = await runDay(load, db, folder)
  t.diagnostic(`after 1, 8, 16 and 24 hours of ${load.calls.count} calls:`)
  report(t, samples)
  assertBounded(samples, documented)
  await endLoad(load)
  await assertDeleted(load, db, documented)
}

eachEngine((engine) => {
  test('a day of use leaves what the documentation says, for as long as it says', (t) => simulate(t, engine))
})
