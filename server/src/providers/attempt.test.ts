// An attempt with a row of its own in a real database, at a provider that does as it is told.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { pino } from 'pino'

import { errors } from '../base/errors.ts'
import { openFresh } from '../db/database.fixture.ts'
import type { Database } from '../db/database.ts'
import { openDatabase } from '../db/open.ts'
import { startProxy } from '../db/postgres-proxy.fixture.ts'
import { sql } from '../db/sql.ts'
import { testClock } from '../testing/clock.ts'
import { eachEngine } from '../testing/engines.ts'
import { attempt, persist, resume, type Attempt } from './attempt.ts'
import type { Outcome } from './outcome.ts'

type Payment = { paymentId: string }
type State = { state: string; payment: string | null }

const TABLE = `create table attempts (id text primary key, state text not null, payment text)`
const LIMIT_MS = 10_000
const log = pino({ level: 'silent' })
const about = { provider: 'test' }
const lost: Outcome<Payment> = { kind: 'unknown', reason: 'the answer was lost' }
const absent: Outcome<Payment> = { kind: 'retry', reason: 'there is no such payment' }
const paid: Outcome<Payment> = { kind: 'accepted', paymentId: 'p1' }

/** A provider whose calls and looks end as scripted, in order; it counts both. */
function scripted(calls: Outcome<Payment>[], looks: Outcome<Payment>[] = []) {
  const counts = { calls: 0, looks: 0 }
  return {
    counts,
    call: async () => calls[counts.calls++]!,
    retrieve: async () => looks[Math.min(counts.looks++, looks.length - 1)] ?? lost,
  }
}

eachEngine((engine) => {
  let db: Database
  before(async () => void (db = await openFresh(engine, TABLE)))
  after(() => db.close())

  let ids = 0
  const newAttempt = (): string => `a${++ids}`
  const stateOf = (id: string, from = db): Promise<State | undefined> =>
    from.get<State>(sql`select state, payment from attempts where id = ${id}`)

  /** The steps of an attempt with this id; each settlement leaves its trace in `states`. */
  function stepsOf(id: string, provider: ReturnType<typeof scripted>, to = db) {
    const states: string[] = []
    const steps: Attempt<Payment, string> = {
      begin: async () =>
        (
          await to.write(sql`
            insert into attempts (id, state) values (${id}, 'begun') on conflict do nothing returning id`)
        ).length > 0,
      call: provider.call,
      retrieve: provider.retrieve,
      async settle(outcome, isLookedUp) {
        const payment = outcome.kind === 'accepted' ? outcome.paymentId : null
        await to.write(
          sql`update attempts set state = ${outcome.kind}, payment = ${payment} where id = ${id}`,
        )
        assert.equal(isLookedUp, states.length > 0)
        states.push(outcome.kind)
        return outcome.kind
      },
    }
    return { steps, states }
  }

  describe('an attempt', () => {
    test('is a row before the call, and settled after it', async () => {
      const id = newAttempt()
      const { steps, states } = stepsOf(id, scripted([]))
      let during: State | undefined
      const call = async (): Promise<Outcome<Payment>> => {
        during = await stateOf(id)
        return paid
      }
      const told = await attempt({ ...steps, call }, { clock: testClock(), log, about, limitMs: LIMIT_MS })
      assert.deepEqual(during, { state: 'begun', payment: null })
      assert.deepEqual([told, states], ['accepted', ['accepted']])
      assert.deepEqual(await stateOf(id), { state: 'accepted', payment: 'p1' })
    })

    test('that is not ours is not made', async () => {
      const id = newAttempt()
      const provider = scripted([paid, paid])
      const clock = testClock()
      const told = await Promise.all(
        [1, 2].map(() => attempt(stepsOf(id, provider).steps, { clock, log, about, limitMs: LIMIT_MS })),
      )
      assert.deepEqual(new Set(told), new Set(['accepted', undefined]))
      assert.equal(provider.counts.calls, 1)
    })

    test('is not made if its row cannot be written', async () => {
      const provider = scripted([paid])
      const { steps } = stepsOf(newAttempt(), provider)
      const begin = async (): Promise<boolean> => {
        throw errors.unavailable()
      }
      await assert.rejects(
        attempt({ ...steps, begin }, { clock: testClock(), log, about, limitMs: LIMIT_MS }),
        {
          status: 503,
        },
      )
      assert.equal(provider.counts.calls, 0)
    })

    for (const outcome of [
      { kind: 'refused', reason: 'no' },
      { kind: 'retry', reason: 'later' },
    ] as const)
      test(`that is ${outcome.kind} is settled so, and not looked up`, async () => {
        const id = newAttempt()
        const provider = scripted([outcome])
        const { steps } = stepsOf(id, provider)
        assert.equal(
          await attempt(steps, { clock: testClock(), log, about, limitMs: LIMIT_MS }),
          outcome.kind,
        )
        assert.deepEqual(provider.counts, { calls: 1, looks: 0 })
      })

    for (const [what, looks, states, count] of [
      ['is found', [paid], ['unknown', 'accepted'], 1],
      ['is found at the second look', [lost, paid], ['unknown', 'accepted'], 2],
      ['is shown a moment late', [absent, paid], ['unknown', 'accepted'], 2],
      ['was refused', [{ kind: 'refused', reason: 'no' }], ['unknown', 'refused'], 1],
      ['is certainly not there', [absent], ['unknown', 'retry'], 2],
    ] as [string, Outcome<Payment>[], string[], number][])
      test(`of which nobody knows the outcome is looked up, and ${what}`, async () => {
        const id = newAttempt()
        const provider = scripted([lost], looks)
        const made = stepsOf(id, provider)
        const clock = testClock()
        const told = await clock.through(attempt(made.steps, { clock, log, about, limitMs: LIMIT_MS }))
        assert.deepEqual([told, made.states], [states.at(-1), states])
        assert.deepEqual(provider.counts, { calls: 1, looks: count })
      })

    test('of which nobody can tell stays unknown, and the call is not made again', async () => {
      const id = newAttempt()
      const provider = scripted([lost], [lost])
      const { steps, states } = stepsOf(id, provider)
      const clock = testClock()
      const told = await clock.through(attempt(steps, { clock, log, about, limitMs: LIMIT_MS }))
      assert.deepEqual([told, states, provider.counts.calls], ['unknown', ['unknown'], 1])
      assert.ok(provider.counts.looks > 1 && provider.counts.looks < 20)
    })

    test('is not looked up after its deadline', async () => {
      const provider = scripted([lost], [paid])
      const { steps, states } = stepsOf(newAttempt(), provider)
      const clock = testClock()
      const deadline = clock.elapsed() + 100
      const told = await clock.through(attempt(steps, { clock, log, about, limitMs: LIMIT_MS, deadline }))
      assert.deepEqual([told, states, provider.counts.looks], ['unknown', ['unknown'], 0])
    })

    test('logs why a call was not accepted, once, however often its outcome is written', async () => {
      const lines: object[] = []
      const clock = testClock()
      const { steps } = stepsOf(newAttempt(), scripted([lost], [absent, paid]))
      let writes = 0
      const settle: typeof steps.settle = async (outcome, isLookedUp) => {
        if (++writes < 3) throw errors.unavailable()
        return steps.settle(outcome, isLookedUp)
      }
      await clock.through(
        attempt(
          { ...steps, settle },
          { clock, log: { warn: (fields) => lines.push(fields) }, about, limitMs: LIMIT_MS },
        ),
      )
      assert.deepEqual(lines, [
        { ...about, outcome: 'unknown', reason: 'the answer was lost' },
        { ...about, outcome: 'retry', reason: 'there is no such payment' },
      ])
    })

    test('survives a provider that throws, hangs and answers garbage', async () => {
      for (const call of [
        () => Promise.reject(new Error('a bug')),
        () => new Promise<never>(() => undefined),
        async () => 'done' as never,
        async () => ({ kind: 'accepted' }) as never,
      ]) {
        const { steps, states } = stepsOf(newAttempt(), scripted([], [paid]))
        const clock = testClock()
        const begin = async (): Promise<boolean> => {
          // Whatever waits from then on waits no longer.
          setImmediate(() => clock.advance(LIMIT_MS + 500))
          return steps.begin()
        }
        const isAccepted = ({ paymentId }: { paymentId?: unknown }): boolean => typeof paymentId === 'string'
        const options = { clock, log, about, limitMs: LIMIT_MS, isAccepted }
        let isOver = false
        const work = attempt({ ...steps, begin, call }, options).finally(() => (isOver = true))
        while (!isOver) {
          await new Promise(setImmediate)
          clock.advance(500)
        }
        assert.equal(await work, 'accepted')
        assert.deepEqual(states, ['unknown', 'accepted'])
      }
    })

    test('whose process died is looked up, and not made again', async () => {
      const id = newAttempt()
      const provider = scripted([paid], [paid])
      const { steps } = stepsOf(id, provider)
      // The process that made it ends within the call.
      void attempt(
        { ...steps, call: () => new Promise<never>(() => undefined) },
        { clock: { ...testClock(), timer: () => () => undefined }, log, about, limitMs: LIMIT_MS },
      )
      while ((await stateOf(id))?.state !== 'begun') await new Promise(setImmediate)
      const clock = testClock()
      assert.equal(await clock.through(resume(steps, { clock, log, about })), 'accepted')
      assert.deepEqual(await stateOf(id), { state: 'accepted', payment: 'p1' })
      assert.deepEqual(provider.counts, { calls: 0, looks: 1 })
    })
  })

  describe('an outcome that cannot be written', () => {
    test('is written once the database is back', async () => {
      let writes = 0
      const clock = testClock()
      const write = async (): Promise<string> => {
        if (++writes < 4) throw errors.unavailable()
        return 'written'
      }
      assert.equal(await clock.through(persist(write, clock)), 'written')
      assert.equal(writes, 4)
    })

    test('is given up after the time, and any other error at once', async () => {
      const clock = testClock()
      let writes = 0
      const away = persist(async () => {
        writes++
        throw errors.unavailable()
      }, clock)
      await assert.rejects(clock.through(away), { status: 503 })
      assert.ok(writes > 2 && writes < 80, String(writes))
      await assert.rejects(
        persist(async () => Promise.reject(new Error('a bug')), clock),
        /a bug/,
      )
    })
  })
})

// Only PostgreSQL is reached over a network, which can break on the way to it.
eachEngine((engine) => {
  if (engine.name === 'sqlite') return
  test('an outcome survives a database that goes away between the call and its settlement', async (t) => {
    const url = await engine.freshUrl()
    const direct = await openDatabase(url)
    t.after(() => direct.close())
    await direct.migrate([{ wire: 'test', name: '001-tables', text: TABLE }])
    const proxy = await startProxy(url)
    const db = await openDatabase(proxy.url)
    t.after(async () => {
      await db.close()
      await proxy.down()
    })
    const clock = testClock()
    for (const fault of ['lose request', 'lose answer', 'down'] as const) {
      const id = fault.replace(' ', '-')
      let settlements = 0
      // Named in the statement, since a prepared one is sent by its number.
      const mark = sql.literal(`/* ${fault} */`)
      const told: string | undefined = await attempt<Payment, string>(
        {
          begin: async () =>
            (await db.write(sql`insert into attempts (id, state) values (${id}, 'begun') returning id`))
              .length > 0,
          async call(): Promise<Outcome<Payment>> {
            if (fault === 'down') await proxy.down()
            else proxy.once(`/* ${fault} */`, fault)
            return paid
          },
          async settle(outcome) {
            if (settlements++ === 1 && fault === 'down') await proxy.up()
            await db.write(
              sql`${mark} update attempts set state = ${outcome.kind}, payment = 'p1' where id = ${id}`,
            )
            return outcome.kind
          },
        },
        { clock, log, about, limitMs: LIMIT_MS },
      )
      assert.equal(told, 'accepted')
      assert.ok(settlements > 1, fault)
      const row = await direct.get<State>(sql`select state, payment from attempts where id = ${id}`)
      assert.deepEqual(row, { state: 'accepted', payment: 'p1' })
    }
  })
})
