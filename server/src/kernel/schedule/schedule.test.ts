import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'

import { openDatabase } from '../../db/open.ts'
import { createAudit } from '../audit/audit.ts'
import { createJobOperations, type JobOperations } from '../../wires/core/jobs/job-operations.ts'
import { createJobs } from '../jobs/jobs.ts'
import { queueForAll, type Queue } from '../jobs/jobs.fixture.ts'
import { eachEngine } from '../../testing/engines.ts'
import { until } from '../../testing/until.ts'
import { checkSchedules, type ScheduledWork } from './schedule-option.ts'
import { createSchedule } from './schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONDAY = Date.UTC(2027, 0, 4)

type Work = ScheduledWork['run']
type Option = Omit<ScheduledWork, 'run'> & { run?: Work }

/** Servers with schedules on one database, and a clock that stands still, at the beginning of a Monday. */
async function setUp(t: TestContext, { db, url, clock, stored }: Queue) {
  clock.advance(MONDAY - clock.now())
  const lines: string[] = []
  const write = (fields: object | string, message?: string) =>
    void lines.push(JSON.stringify(fields) + (message ?? ''))
  const log = { trace: write, debug: write, info: write, warn: write, error: write, fatal: write }
  const runs: string[] = []
  let operations: JobOperations | undefined
  const record: Work = ({ due }) => void runs.push(due.toISOString())
  /** Starts a server; its end stops it. */
  async function start(options: Record<string, Option>, offered = {}): Promise<() => Promise<void>> {
    const own = await openDatabase(url)
    const logger = { ...log, child: () => logger }
    const context = { db: own, clock, log: logger, jobs: createJobs({ db: own, clock, log: logger }) }
    const given = Object.fromEntries(
      Object.entries(options).map(([name, one]) => [name, { run: record, ...one }]),
    )
    const schedule = createSchedule(context, { schedules: await checkSchedules(given, clock.now()), offered })
    await schedule.start()
    await context.jobs.start()
    operations = createJobOperations({ ...context, audit: createAudit(clock) })
    let ended: Promise<void> | undefined
    const end = () => (ended ??= context.jobs.stop().then(() => own.close()))
    t.after(end)
    return end
  }
  /** Waits until nothing is due, neither a tick nor a run. */
  const idle = () =>
    until(async () => (await stored()).every((one) => one.run_at > clock.now() && one.claimed_by === null))
  /** Sets the clock to a time, and waits for the work of it. */
  async function at(time: number): Promise<void> {
    clock.advance(time - clock.now())
    await idle()
  }
  /** Discards a job at the server that was started last. */
  const discard = (id: string) => operations!.discard(id)
  return { db, clock, stored, lines, runs, start, at, idle, discard }
}

eachEngine((engine) => {
  const queue = queueForAll(engine)

  test('work gets its log and time, what the wires offer, and a signal', async (t) => {
    const { start, at } = await setUp(t, await queue(t))
    let context: object = {}
    await start({ digest: { cron: '@daily', run: (one) => void (context = one) } }, { documents: 'all' })
    await at(MONDAY + DAY)
    assert.deepEqual(Object.keys(context).toSorted(), ['documents', 'due', 'log', 'signal'])
  })

  test('work runs once for each time, whichever of two servers is first', async (t) => {
    const { start, at, runs, stored } = await setUp(t, await queue(t))
    await start({ digest: { cron: '0 7 * * 1-5' } })
    await start({ digest: { cron: '0 7 * * 1-5' } })
    await at(MONDAY + 7 * HOUR - 1)
    assert.deepEqual(runs, [])
    for (let day = 0; day < 7; day++) await at(MONDAY + day * DAY + 7 * HOUR)
    assert.deepEqual(
      runs,
      ['04', '05', '06', '07', '08'].map((day) => `2027-01-${day}T07:00:00.000Z`),
    )
    assert.deepEqual(
      (await stored()).map(({ id, run_at }) => ({ id, run_at })),
      [{ id: 'every-cron:digest', run_at: MONDAY + 7 * DAY + 7 * HOUR }],
    )
  })

  test('of the times that no server ran, the last one is made up for, once', async (t) => {
    const { start, at, clock, idle, runs, lines } = await setUp(t, await queue(t))
    const schedules = {
      made: { cron: '@daily' },
      left: { cron: '5 0 * * *', missed: 'skip' },
    } as const
    const end = await start(schedules)
    await at(MONDAY + DAY)
    await at(MONDAY + DAY + 5 * MINUTE)
    assert.deepEqual(runs.splice(0), ['2027-01-05T00:00:00.000Z', '2027-01-05T00:05:00.000Z'])
    await end()
    clock.advance(3 * DAY + HOUR)
    await start(schedules)
    await start(schedules)
    await idle()
    assert.deepEqual(runs.splice(0), ['2027-01-08T00:00:00.000Z'])
    assert.match(lines.join('\n'), /"schedule":"left","due":"2027-01-08T00:05:00.000Z".*was missed/)
    await at(MONDAY + 5 * DAY)
    await at(MONDAY + 5 * DAY + 5 * MINUTE)
    assert.deepEqual(runs, ['2027-01-09T00:00:00.000Z', '2027-01-09T00:05:00.000Z'])
  })

  test('a new schedule, and one that is changed, begins with its next time', async (t) => {
    const { start, at, clock, idle, runs } = await setUp(t, await queue(t))
    const end = await start({ digest: { cron: '@weekly' } })
    await at(MONDAY + 12 * HOUR + 1)
    await end()
    clock.advance(HOUR)
    await start({ digest: { cron: '@hourly' }, other: { cron: '30 7 * * *' } })
    await idle()
    assert.deepEqual(runs, [])
    await at(MONDAY + 14 * HOUR)
    assert.deepEqual(runs, ['2027-01-04T14:00:00.000Z'])
  })

  test('while work goes on, its next time waits; of several, the last', async (t) => {
    const { start, at, clock, idle, runs, stored } = await setUp(t, await queue(t))
    const going = Promise.withResolvers<void>()
    const run: Work = async ({ due }) => {
      runs.push(due.toISOString().slice(11, 16))
      await going.promise
    }
    await start({ slow: { cron: '@hourly', run } })
    const hasTick = (hour: number) =>
      until(async () =>
        (await stored()).some(({ id, run_at }) => id.startsWith('every') && run_at === MONDAY + hour * HOUR),
      )
    for (const hour of [1, 2, 3]) {
      clock.advance(MONDAY + hour * HOUR - clock.now())
      await hasTick(hour + 1)
    }
    await until(() => runs.length === 1)
    going.resolve()
    await idle()
    await at(MONDAY + 4 * HOUR)
    assert.deepEqual(runs, ['01:00', '03:00', '04:00'])
  })

  test('work that fails is done again, with the same time, and is listed under it', async (t) => {
    const { start, at, clock, idle, runs, stored, discard } = await setUp(t, await queue(t))
    let isBroken = true
    const run: Work = ({ due }) => {
      runs.push(due.toISOString())
      if (isBroken) throw new Error('no mail server')
    }
    await start({ digest: { cron: '@daily', timeZone: 'Europe/Zurich', run } })
    await at(MONDAY + 23 * HOUR)
    const [job, tick] = await stored()
    assert.deepEqual(
      { id: job!.id, attempts: job!.attempts, error: job!.last_error },
      { id: 'cron:digest:2027-01-04T23:00:00.000Z', attempts: 1, error: 'no mail server' },
    )
    await assert.rejects(discard(tick!.id), /can't be discarded: it waits for the next time of a schedule/)
    isBroken = false
    clock.advance(HOUR)
    await idle()
    assert.deepEqual(runs, ['2027-01-04T23:00:00.000Z', '2027-01-04T23:00:00.000Z'])
  })
})
