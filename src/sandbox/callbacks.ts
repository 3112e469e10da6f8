import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../base/clock.ts'
import { deriveKey } from '../base/crypto.ts'
import { newId } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Database } from '../db/database.ts'
import { sql, type Sql } from '../db/sql.ts'
import type { Fault } from './faults.ts'

// Callbacks are not jobs of the queue (src/kernel/jobs.ts): those of one subject keep their order, each is sent the moment it is
// due where the queue looks once a second, they are given up sooner, and stand-ins are given no Jobs.

const POLL_MS = 1_000
const AT_ONCE = 16
const LEASE_MS = 30_000
const ANSWER_MS = 5_000
const ATTEMPTS = 8
const FIRST_RETRY_MS = 1_000
const LATE_MS = 30_000

/** No earlier one of the same subject is still to be sent. */
const ITS_TURN = sql.literal(`not exists (
  select 1 from sandbox_callbacks earlier
  where earlier.stand_in = one.stand_in and earlier.subject = one.subject and earlier.id < one.id)`)

/** A webhook or status callback: a POST to the application. */
export type Callback = {
  /** What it is about, in the stand-in's own words. */
  subject: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Milliseconds, in the clock's time. */
  dueAt: number
}

/** The callbacks of one stand-in. */
export type Callbacks = {
  /** The statements that promise callbacks, to stand in the batch that they tell of; call `wake` after it. */
  insertions(callbacks: readonly Callback[], fault: Fault['callback']): Sql[]
  /** The statement that forgets those which are still to be sent. */
  removal(): Sql
  /** A query for the subjects of those. */
  readonly subjects: Sql
  wake(): void
  /** How many are still to be sent. */
  waiting(): Promise<number>
}

export type CallbackQueue = {
  /** @param standIn its name */
  of(standIn: string): Callbacks
  start(): void
  close(): Promise<void>
}

type Due = {
  id: string
  stand_in: string
  url: string
  headers: string
  body: string
  attempts: number
}

/**
 * Sends the callbacks of all stand-ins: each is a row first, so that a restart loses none, and of several servers one
 * sends it. A callback that is not answered with success comes again, eight times within some two minutes, and those of
 * one subject come in their order. Real providers have other patience, but do not end with the server they talk to.
 *
 * @param secret the operator's; what the headers hold is sealed under it
 */
export function createCallbackQueue(
  db: Database,
  clock: Clock,
  log: FastifyBaseLogger,
  secret: string,
): CallbackQueue {
  const key = deriveKey(secret, 'sandbox.callbacks')
  const closing = new AbortController()
  let sleep = new AbortController()
  const underWay = new Map<string, Promise<void>>()
  let running: Promise<void> = Promise.resolve()

  function insertions(standIn: string, callbacks: readonly Callback[], fault: Fault['callback']): Sql[] {
    if (fault === 'lost') return []
    const late = fault === 'late' ? LATE_MS : 0
    return callbacks
      .flatMap((one) => (fault === 'doubled' ? [one, one] : [one]))
      .map(
        ({ subject, url, headers, body, dueAt }) => sql`
          insert into sandbox_callbacks (id, stand_in, subject, url, headers, body, due_at, attempts)
          values (${newId(clock.now())}, ${standIn}, ${subject}, ${url}, ${key.seal(JSON.stringify(headers))}, ${body},
                  ${dueAt + late}, 0)`,
      )
  }

  /** A clock that was put forward ends the lease of what this server still works on. */
  const notUnderWay = (): Sql =>
    underWay.size > 0 ? sql`and id not in (${sql.join([...underWay.keys()])})` : sql``

  /** Takes what is due under a lease: where this process dies, it comes again once the lease is over. */
  const claim = (now: number): Promise<Due[]> =>
    db.write<Due>(sql`
      with due as materialized (
        select id from sandbox_callbacks one
        where due_at <= ${now} and ${ITS_TURN} ${notUnderWay()}
        order by due_at, id limit ${AT_ONCE - underWay.size} ${sql.skipLocked})
      update sandbox_callbacks set due_at = ${now + LEASE_MS}, attempts = attempts + 1
      where id in (select id from due)
      returning id, stand_in, url, headers, body, attempts`)

  /** The callback, as long as nobody else has taken it since. */
  const stillMine = ({ id, attempts }: Due): Sql => sql`id = ${id} and attempts = ${attempts}`

  async function send({ url, headers, body }: Due): Promise<void> {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: parseJson(key.open(headers)) as Record<string, string>,
      body,
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(ANSWER_MS)]),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`it was answered with ${response.status}`)
  }

  async function deliver(due: Due): Promise<void> {
    try {
      await send(due)
    } catch (error) {
      // Cut off by the end of this server, it comes again once the lease is over.
      if (closing.signal.aborted) return
      const isLast = due.attempts >= ATTEMPTS
      const told = { err: error, callback: due.id, standIn: due.stand_in, attempts: due.attempts }
      if (isLast) log.warn(told, 'a callback of the sandbox was given up')
      else log.debug(told, 'a callback of the sandbox failed')
      if (!isLast) {
        const again = clock.now() + FIRST_RETRY_MS * 2 ** (due.attempts - 1)
        await db.write(sql`update sandbox_callbacks set due_at = ${again} where ${stillMine(due)}`)
        return
      }
    }
    await db.write(sql`delete from sandbox_callbacks where ${stillMine(due)}`)
  }

  /** One that hangs holds up no others but those of its own subject. */
  function begin(due: Due): void {
    const work = deliver(due)
      .catch((error: unknown) => log.warn({ err: error }, 'a callback of the sandbox could not be noted'))
      .finally(() => {
        underWay.delete(due.id)
        sleep.abort()
      })
    underWay.set(due.id, work)
  }

  /** Milliseconds until something is due. */
  async function untilNext(): Promise<number> {
    const row = await db.get<{ next: number | null }>(
      sql`select min(due_at) as next from sandbox_callbacks one where ${ITS_TURN} ${notUnderWay()}`,
    )
    return (row?.next ?? Infinity) - clock.now()
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      sleep = new AbortController()
      let pause = POLL_MS
      try {
        const next = await untilNext()
        if (next <= 0 && underWay.size < AT_ONCE) {
          for (const due of await claim(clock.now())) begin(due)
          continue
        }
        if (next > 0) pause = Math.min(POLL_MS, next)
      } catch (error) {
        log.warn({ err: error }, 'the callbacks of the sandbox could not be sent')
      }
      // No longer than that: another server may have promised some.
      await clock.sleep(pause, { signal: sleep.signal, idle: true })
    }
  }

  return {
    of: (standIn) => ({
      insertions: (callbacks, fault) => insertions(standIn, callbacks, fault),
      removal: () => sql`delete from sandbox_callbacks where stand_in = ${standIn}`,
      subjects: sql`select subject from sandbox_callbacks where stand_in = ${standIn}`,
      wake: () => sleep.abort(),
      async waiting() {
        const row = await db.get<{ count: number }>(
          sql`select count(*) as count from sandbox_callbacks where stand_in = ${standIn}`,
        )
        return row!.count
      },
    }),
    start: () => void (running = run()),
    async close() {
      closing.abort()
      sleep.abort()
      await running
      await Promise.all(underWay.values())
    },
  }
}
