// Jobs of one lane: in order, one at a time, whichever replica does them and however it ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { Type } from '../../base/schema.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine } from '../../testing/engines.ts'
import { startScript, urlLiteral } from '../../testing/program.ts'
import { queueForAll } from './jobs.fixture.ts'
import type { JobOptions, JobRunner, JobHandler } from './job.ts'
import { until } from '../../testing/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const RETRY = { firstMs: 1000, maxMs: 1000, attempts: 2 }

const Step = Type.Object({ lane: Type.String(), n: Type.Integer() })
type Step = { lane: string; n: number }

/** A kind whose lane is the one that the payload names. */
const inLanes = (
  runner: JobRunner,
  handler: JobHandler<Step>,
  options: Partial<JobOptions<typeof Step>> = {},
) => runner.define('test', { payload: Step, lane: ({ lane }) => lane, retry: RETRY, ...options }, handler)

/** Whole numbers below a limit, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
const newSeed = (): number => Math.floor(Math.random() * 2 ** 31)

eachEngine((engine) => {
  const setUp = queueForAll(engine)

  test('jobs of a lane run in order and one at a time, those of other lanes beside them', async (t) => {
    const { db, replica, stored } = await setUp(t)
    const runner = await replica()
    const begun: string[] = []
    const ends = new Map<string, () => void>()
    const kind = inLanes(runner, async ({ payload: { lane, n } }) => {
      begun.push(`${lane}${n}`)
      await new Promise<void>((resolve) => ends.set(lane, resolve))
    })
    await db.batch([1, 2, 3].map((n) => kind.enqueueSql({ lane: 'a', n })))
    await kind.enqueue({ lane: 'b', n: 1 })
    await runner.start()
    await until(() => begun.length === 2)
    assert.deepEqual((await stored()).map(({ state }) => state).toSorted(), [
      'ready',
      'ready',
      'waiting',
      'waiting',
    ])
    for (const count of [3, 4]) {
      ends.get('a')!()
      await until(() => begun.length === count)
    }
    assert.deepEqual(
      begun.filter((one) => one.startsWith('a')),
      ['a1', 'a2', 'a3'],
    )
    for (const end of ends.values()) end()
    await until(async () => (await stored()).length === 0)
    if (engine.name === 'postgres') assert.deepEqual(await db.all(sql`select * from sixwire_lanes`), [])
  })

  test('a job that waits for its retry, for its time or to be run again holds its lane', async (t) => {
    const { db, replica, stored, clock } = await setUp(t)
    const runner = await replica()
    const begun: string[] = []
    const kind = inLanes(runner, async ({ payload: { lane, n }, attempt }) => {
      begun.push(`${lane}${n}.${attempt}`)
      if (lane === 'fails' && n === 1 && attempt === 1) throw new Error('not now')
      if (lane === 'waits' && n === 1 && clock.now() < HOUR_LATER) return { againInMs: HOUR / 2 }
    })
    const HOUR_LATER = clock.now() + HOUR
    for (const lane of ['fails', 'waits'])
      await db.batch([1, 2].map((n) => kind.enqueueSql({ lane, n }, { id: `${lane}${n}` })))
    await kind.enqueue({ lane: 'later', n: 1 }, { runAt: clock.now() + HOUR })
    await kind.enqueue({ lane: 'later', n: 2 })
    await runner.start()
    await until(async () => begun.length === 2 && (await stored()).every((one) => one.claimed_by === null))
    assert.deepEqual(begun.splice(0).toSorted(), ['fails1.1', 'waits1.1'])
    clock.advance(1500)
    await until(() => begun.length === 2)
    assert.deepEqual(begun.splice(0), ['fails1.2', 'fails2.1'])
    clock.advance(HOUR / 2)
    // Not yet is no attempt.
    await until(() => begun.length === 1)
    assert.deepEqual(begun.splice(0), ['waits1.1'])
    await until(async () => (await stored()).every((one) => one.claimed_by === null))
    clock.advance(HOUR / 2)
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(
      begun.filter((one) => one.startsWith('waits')),
      ['waits1.1', 'waits2.1'],
    )
    assert.deepEqual(
      begun.filter((one) => one.startsWith('later')),
      ['later1.1', 'later2.1'],
    )
  })

  test('a job that failed for good leaves its lane, and comes last if it is added again', async (t) => {
    const { replica, stored, clock } = await setUp(t)
    const runner = await replica()
    const begun: number[] = []
    const goOn = Promise.withResolvers<void>()
    const kind = inLanes(
      runner,
      async ({ payload: { n } }) => {
        begun.push(n)
        if (n === 1 && begun.length === 1) throw new Error('never')
        if (n === 2) await goOn.promise
      },
      { retry: { ...RETRY, attempts: 1 } },
    )
    for (const n of [1, 2, 3]) await kind.enqueue({ lane: 'a', n }, { id: `job${n}` })
    await runner.start()
    await until(() => begun.length === 2)
    await kind.enqueue({ lane: 'a', n: 1 }, { id: 'job1', runAt: clock.now() })
    await kind.enqueue({ lane: 'a', n: 9 }, { id: 'job1' }) // is there already
    assert.deepEqual(
      (await stored()).map(({ id, state, attempts, last_error }) => [id, state, attempts, last_error]),
      [
        ['job1', 'waiting', 0, null],
        ['job2', 'ready', 1, null],
        ['job3', 'waiting', 0, null],
      ],
    )
    goOn.resolve()
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(begun, [1, 2, 3, 1])
  })

  test('the order of a lane is the order of the commits', async (t) => {
    const { db, replica, stored } = await setUp(t)
    const [one, two] = [await replica(), await replica()]
    const done: number[] = []
    const [first, second] = [one, two].map((runner) =>
      inLanes(runner, async ({ payload }) => void done.push(payload.n)),
    )
    await first!.enqueue({ lane: 'a', n: 0 })
    const isAdded = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const slow = db.transaction(async (tx) => {
      await tx.write(first!.enqueueSql({ lane: 'a', n: 1 }))
      isAdded.resolve()
      await mayCommit.promise
    })
    await isAdded.promise
    let isOver = false
    const quick = second!.enqueue({ lane: 'a', n: 2 }).then(() => (isOver = true))
    await delay(100)
    assert.equal(isOver, false, 'it waits for the one before it')
    mayCommit.resolve()
    await Promise.all([slow, quick])
    await Promise.all([one.start(), two.start()])
    await until(async () => (await stored()).length === 0)
    assert.deepEqual(done, [0, 1, 2])
  })

  test('two replicas add and do jobs of a few lanes at random: none is lost, none out of order', async (t) => {
    const { db, replica, stored } = await setUp(t)
    const seed = newSeed()
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const active = new Set<string>()
    const done = new Map<string, number[]>()
    const runners = [await replica(), await replica()]
    const kinds = runners.map((runner) =>
      inLanes(runner, async ({ payload: { lane, n }, isLastAttempt }) => {
        assert.ok(!active.has(lane), `two jobs of ${lane} at a time, seed ${seed}`)
        active.add(lane)
        await delay(random(3))
        active.delete(lane)
        done.set(lane, [...(done.get(lane) ?? []), n])
        if (!isLastAttempt && random(10) === 0) return { againInMs: 0 }
      }),
    )
    await Promise.all(runners.map((runner) => runner.start()))
    let count = 0
    const add = async (at: number): Promise<void> => {
      const kind = kinds[at % 2]!
      for (let i = 0; i < 15; i++) {
        // Numbers of one adder rise; some are added together, in any order of lanes, or in a slow transaction.
        const steps = Array.from({ length: 1 + random(3) }, () =>
          kind.enqueueSql({ lane: `lane${random(4)}`, n: at * 1_000_000 + ++count }),
        )
        if (random(4) > 0) await db.batch([steps])
        else
          await db.transaction(async (tx) => {
            for (const step of steps) await tx.write(step)
            await delay(random(4))
          })
      }
    }
    await Promise.all([0, 1, 2, 3].map(add))
    await until(async () => (await stored()).length === 0)
    for (const [lane, numbers] of done)
      for (const at of [0, 1, 2, 3]) {
        const own = numbers.filter((n) => Math.floor(n / 1_000_000) === at)
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
          `${lane}, seed ${seed}`,
        )
      }
    assert.equal(new Set([...done.values()].flat()).size, count, `seed ${seed}`)
  })

  test('lanes of processes that are killed go on elsewhere, in order, and nothing is lost', async (t) => {
    const seed = newSeed()
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const { db, url, replica, clock, stored } = await setUp(t)
    const LANES = 5
    const JOBS = 20
    await db.write(
      sql`create table effects (lane text, n bigint, what text, at bigint, primary key (lane, at))`,
    )
    const handler = `async ({ payload: { lane, n } }) => {
      const note = (what) => db.write(sql\`insert into effects (lane, n, what, at) values (\${lane}, \${n}, \${what},
        (select coalesce(max(at), 0) + 1 from effects where lane = \${lane}))\`)
      await note('begin')
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
      await note('end')
    }`
    const runner = await replica()
    const kind = inLanes(runner, async () => undefined)
    for (let n = 1; n <= JOBS; n++)
      await db.batch(Array.from({ length: LANES }, (_, lane) => kind.enqueueSql({ lane: `lane${lane}`, n })))
    const start = (now: number) =>
      startScript(
        t,
        `import { openDatabase } from ${urlLiteral('db/open.ts')}
         import { sql } from ${urlLiteral('db/sql.ts')}
         import { systemClock } from ${urlLiteral('base/clock.ts')}
         import { createJobs } from ${urlLiteral('kernel/jobs/jobs.ts')}
         const db = await openDatabase(${JSON.stringify(url)})
         const jobs = createJobs({ db, clock: { ...systemClock, now: () => ${now} }, log: { warn() {}, error() {} } })
         jobs.define('test', { payload: {}, lane: ({ lane }) => lane }, ${handler})
         await jobs.start()
         console.log('started')
         setInterval(() => {}, 1000)`,
      )
    for (let kill = 0; kill < 3; kill++) {
      const two = await Promise.all([start(clock.now()), start(clock.now())])
      const before = await db.all(sql`select at from effects`)
      await Promise.all(two.map((one) => one.until(/started/)))
      const more = before.length + 5 + random(20)
      // On a slow machine they may be done with all of it before that is seen.
      await until(
        async () =>
          (await db.all(sql`select at from effects`)).length >= more || (await stored()).length === 0,
      )
      for (const one of two) one.signal('SIGKILL')
      await Promise.all(two.map(({ ended }) => ended))
      clock.advance(MINUTE)
    }
    const last = await start(clock.now())
    await until(async () => (await stored()).length === 0)
    await last.kill()
    for (let lane = 0; lane < LANES; lane++) {
      const effects = await db.all<{ n: number; what: string }>(
        sql`select n, what from effects where lane = ${`lane${lane}`} order by at`,
      )
      // Begun again where the process died, and otherwise begun and ended one after the other.
      let [n, isRunning] = [1, false]
      for (const effect of effects) {
        const story = `lane${lane}: ${effects.map((one) => `${one.what} ${one.n}`).join(', ')}, seed ${seed}`
        if (effect.what === 'begin' && !isRunning && effect.n === n + 1) n++ // the one before it is done
        assert.equal(effect.n, n, story)
        if (effect.what === 'end') assert.ok(isRunning, story)
        isRunning = effect.what === 'begin'
      }
      assert.equal(n, JOBS)
      assert.equal(isRunning, false)
    }
  })
})
