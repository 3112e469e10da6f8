import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import type { FastifyBaseLogger } from 'fastify'

import type { Clock } from '../../base/clock.ts'
import { newId } from '../../base/ids.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { Fault } from '../faults.ts'
import { OUTCOME_MS, SENT_MS, type Channel, type Message } from './messages.ts'

// Callbacks are not jobs of the queue (src/jobs.ts): those of one message keep their order, each is sent the moment it is
// due where the queue looks once a second, they are given up sooner, and stand-ins are given no Jobs.

const POLL_MS = 1_000
const AT_ONCE = 16
const LEASE_MS = 30_000
const ANSWER_MS = 5_000
const ATTEMPTS = 8
const FIRST_RETRY_MS = 1_000
const LATE_MS = 30_000

/** No earlier one of the same message is still to be sent. */
const ITS_TURN = sql.literal(`not exists (
  select 1 from sandbox_phone_callbacks earlier
  where earlier.message_id = one.message_id and earlier.id < one.id)`)

/** Of Twilio's API, in its addresses and its callbacks. */
export const API_VERSION = '2010-04-01'

export type Account = { sid: string; token: string }

/** The address of somebody on a channel, in Twilio's words. */
export const channelAddress = (channel: Channel, number: string): string =>
  channel === 'whatsapp' ? `whatsapp:${number}` : number

/**
 * The signature of a callback: HMAC-SHA1 under the account's token over the address and, sorted by name, every
 * parameter with its value, in base64.
 *
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 */
const signatureOf = (token: string, url: string, params: Readonly<Record<string, string>>): string =>
  createHmac('sha1', token)
    .update(
      url +
        Object.keys(params)
          .toSorted()
          .map((name) => name + params[name])
          .join(''),
    )
    .digest('base64')

type Due = { id: string; message_id: string; url: string; status: string; attempts: number }
type Named = {
  sid: string
  channel: Channel
  to_number: string
  from_number: string
  error_code: number | null
}

export type Callbacks = {
  /** The statements that promise a message's callbacks, to stand in the batch that accepts it; call `wake` after it. */
  insertions(message: Message, url: string, fault: Fault['callback']): Sql[]
  wake(): void
  /** How many are still to be sent. */
  waiting(): Promise<number>
  start(): void
  close(): Promise<void>
}

/**
 * Sends status callbacks: each is a row first, so that a restart loses none, and of several servers one sends it.
 * A callback that is not answered with success comes again, eight times within some two minutes, and those of one
 * message come in their order. Twilio itself is less patient, but doesn't end with the server it talks to.
 */
export function createCallbacks(
  db: Database,
  clock: Clock,
  log: FastifyBaseLogger,
  account: Account,
): Callbacks {
  const closing = new AbortController()
  let sleep = new AbortController()
  let running: Promise<void> = Promise.resolve()

  function insertions(message: Message, url: string, fault: Fault['callback']): Sql[] {
    if (fault === 'lost') return []
    const { outcome, createdAt } = message
    const steps = [
      { status: 'queued', dueAt: createdAt },
      ...(outcome === 'failed' ? [] : [{ status: 'sent', dueAt: createdAt + SENT_MS }]),
      { status: outcome, dueAt: createdAt + OUTCOME_MS },
    ]
    const late = fault === 'late' ? LATE_MS : 0
    return steps
      .flatMap((step) => (fault === 'doubled' ? [step, step] : [step]))
      .map(
        ({ status, dueAt }) => sql`
          insert into sandbox_phone_callbacks (id, message_id, url, status, due_at, attempts)
          values (${newId(createdAt)}, ${message.id}, ${url}, ${status}, ${dueAt + late}, 0)`,
      )
  }

  /** Takes what is due under a lease: where this process dies, it comes again once the lease is over. */
  const claim = (now: number): Promise<Due[]> =>
    db.write<Due>(sql`
      with due as materialized (
        select id from sandbox_phone_callbacks one
        where due_at <= ${now} and ${ITS_TURN}
        order by due_at, id limit ${AT_ONCE} ${sql.skipLocked})
      update sandbox_phone_callbacks set due_at = ${now + LEASE_MS}, attempts = attempts + 1
      where id in (select id from due)
      returning id, message_id, url, status, attempts`)

  /** The callback, as long as nobody else has taken it since. */
  const stillMine = ({ id, attempts }: Due): Sql => sql`id = ${id} and attempts = ${attempts}`

  async function send(due: Due): Promise<void> {
    const message = await db.get<Named>(sql`
      select sid, channel, to_number, from_number, error_code from sandbox_phone_messages
      where id = ${due.message_id}`)
    // Forgotten by a reset since.
    if (!message) return
    const { sid, channel, to_number, from_number, error_code } = message
    const failed = error_code !== null && (due.status === 'undelivered' || due.status === 'failed')
    const params = {
      AccountSid: account.sid,
      ApiVersion: API_VERSION,
      From: channelAddress(channel, from_number),
      MessageSid: sid,
      MessageStatus: due.status,
      SmsSid: sid,
      SmsStatus: due.status,
      To: channelAddress(channel, to_number),
      ...(channel === 'whatsapp' && { ChannelPrefix: 'whatsapp' }),
      ...(failed && { ErrorCode: String(error_code) }),
    }
    const response = await fetch(due.url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'user-agent': 'TwilioProxy/1.1',
        'x-twilio-signature': signatureOf(account.token, due.url, params),
        'i-twilio-idempotency-token': due.id,
      },
      body: new URLSearchParams(params),
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(ANSWER_MS)]),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`it was answered with ${response.status}`)
  }

  async function deliver(due: Due): Promise<void> {
    try {
      await send(due)
    } catch (error) {
      const isLast = due.attempts >= ATTEMPTS
      log.debug(
        { err: error, callback: due.id, status: due.status, attempts: due.attempts },
        isLast ? 'a status callback of the sandbox was given up' : 'a status callback of the sandbox failed',
      )
      if (!isLast) {
        const again = clock.now() + FIRST_RETRY_MS * 2 ** (due.attempts - 1)
        await db.write(sql`update sandbox_phone_callbacks set due_at = ${again} where ${stillMine(due)}`)
        return
      }
    }
    await db.write(sql`delete from sandbox_phone_callbacks where ${stillMine(due)}`)
  }

  /** Milliseconds until something is due. */
  async function untilNext(): Promise<number> {
    const row = await db.get<{ next: number | null }>(
      sql`select min(due_at) as next from sandbox_phone_callbacks one where ${ITS_TURN}`,
    )
    return (row?.next ?? Infinity) - clock.now()
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      sleep = new AbortController()
      let pause = POLL_MS
      try {
        const next = await untilNext()
        if (next <= 0) {
          await Promise.all((await claim(clock.now())).map(deliver))
          continue
        }
        pause = Math.min(POLL_MS, next)
      } catch (error) {
        log.warn({ err: error }, 'the status callbacks of the sandbox could not be sent')
      }
      // No longer than that: another server may have promised some.
      await delay(pause, undefined, { signal: sleep.signal, ref: false }).catch(() => undefined)
    }
  }

  return {
    insertions,
    wake: () => sleep.abort(),
    async waiting() {
      const row = await db.get<{ count: number }>(sql`select count(*) as count from sandbox_phone_callbacks`)
      return row!.count
    },
    start: () => void (running = run()),
    async close() {
      closing.abort()
      sleep.abort()
      await running
    },
  }
}
