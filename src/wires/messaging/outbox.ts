import { deriveKey } from '../../base/crypto.ts'
import { ApiError, errors } from '../../base/errors.ts'
import { newId } from '../../base/ids.ts'
import { Type } from '../../base/schema.ts'
import type { Step } from '../../db/database.ts'
import type { WireContext } from '../../kernel/wire.ts'
import { carriersOf, isRepeatable } from './content.ts'
import { createDelivery, type Waiting } from './delivery.ts'
import { messagingErrors } from './errors.ts'
import type { Providers } from './provider.ts'
import { createOutboxRows, LEASE_MS, type End, type Message, type Turn } from './outbox-rows.ts'

const SWEEP_MS = 30_000
/** Longer than all tries of a job take. */
const FORGOTTEN_MS = 43_200_000
/** How often a request tries, each time over all providers. */
const PASSES = 3
/** How often the service itself tries: about eight hours. */
const JOB_ATTEMPTS = 20
const JOB_LIMIT_MS = 25_000
/** Of the places that all work of this process shares: a mail server that hangs must not stop the rest. */
export const JOBS_AT_ONCE = 6
const WAIT_MS = 200

/** More than all tries of a job and of a request: the process has died each time, or a row was put back by hand. */
const MOST_CALLS = 200

const UNSEALED = 'The message was sealed with another SIXWIRE_SECRET, and cannot be read.'
const ENDLESS = `It was tried ${MOST_CALLS} times, and each time the server ended before it was done.`
const STILL_SENT = 'The message is still being sent: GET /messaging/logs shows what becomes of it.'
const INTERRUPTED =
  'The database was away while the message was being sent: it may have been sent, and else may be sent later. GET /messaging/logs shows what becomes of it; repeat the call only with the same Idempotency-Key.'

export type Outbox = {
  /** The statements that put a message into the outbox, to stand in the batch that decides it. */
  insertion(message: Message): Step[]
  /**
   * Sends a message while its caller waits, over all providers in their order, up to three times.
   *
   * @returns what the provider calls it
   * @throws SEND_FAILED where a provider refused it, none took it within the time, or nobody knows whether one did, of
   *   which the log tells later; UNAVAILABLE where it may still be sent
   */
  send(message: Message, limitMs: number): Promise<{ messageId: string }>
}

/**
 * What was accepted is never forgotten, however the process dies: a text never twice, a mail only where nobody knows whether it
 * arrived. Every step is a row before it is an action (`OutboxRows`); calls whose outcome is unknown are cleared up by
 * `Deliver`; what a dead process left behind is swept up here.
 *
 * @param options.secret `SIXWIRE_SECRET`
 */
export function createOutbox(
  { db, clock, log, jobs }: Pick<WireContext, 'db' | 'clock' | 'log' | 'jobs'>,
  { secret, providers }: { secret: string; providers: Providers },
): Outbox {
  const rows = createOutboxRows(db, clock, deriveKey(secret, 'messaging-outbox'))
  const deliver = createDelivery(rows, { clock, log })
  const kind = jobs.define(
    'messaging.send',
    {
      payload: Type.String(),
      retry: { firstMs: 1_000, maxMs: 3_600_000, attempts: JOB_ATTEMPTS },
      atOnce: JOBS_AT_ONCE,
    },
    ({ payload, attempt }) => workOff(payload, attempt),
  )
  jobs.every('messaging.sweep', SWEEP_MS, sweep)
  jobs.every('messaging.sweep-forgotten', FORGOTTEN_MS, sweepForgotten)

  const fail = (turn: Turn, { provider, error, doubtful }: Waiting): Promise<End> =>
    rows.settle(turn, { status: 'failed', provider, error }, doubtful)

  /** Sends what nobody waits for. Throws where it is to be tried again. */
  async function workOff(id: string, attempt: number): Promise<void> {
    const isLast = attempt >= JOB_ATTEMPTS
    const taken = await rows.take(id)
    if (!taken) return
    const { turn, content, calls } = taken
    if (!content) {
      // Another replica may have the right secret: only this one must not throw the message away.
      if (isLast) return void (await rows.settle(turn, { status: 'failed', provider: null, error: UNSEALED }))
      await rows.release(turn)
      throw new Error(UNSEALED)
    }
    if (calls >= MOST_CALLS)
      return void (await rows.settle(turn, { status: 'failed', provider: null, error: ENDLESS }, true))
    try {
      const deadline = clock.elapsed() + JOB_LIMIT_MS
      const ended = await deliver(turn, carriersOf(content, providers), { passes: 1, deadline })
      if (ended.status !== 'waiting') return
      if (isLast) return void (await fail(turn, ended))
      throw new Error(ended.error)
    } catch (error) {
      // After the last try its lease runs out, and the sweep gives it a job of its own.
      if (!isLast) await rows.release(turn)
      throw error
    }
  }

  /** Queues what was claimed by a process that is gone. */
  async function sweep(): Promise<void> {
    for (const { id, claim } of await rows.abandoned()) await kind.enqueue(id, { id: `${id}-${claim}` })
  }

  /** Queues what has no work any more: its last try ended before it could claim the message. */
  async function sweepForgotten(): Promise<void> {
    const now = clock.now()
    for (const { id } of await rows.forgotten(now - FORGOTTEN_MS))
      await kind.enqueue(id, { id: `${id}-${now}` })
  }

  /** Claims a message that is there already: the same call was made before, and what became of it is not known here. */
  async function follow(message: Message, deadline: number): Promise<Turn | End> {
    await rows.reopen(message)
    for (;;) {
      const found = (await rows.take(message.id))?.turn ?? (await rows.standing(message.id))
      if (found) return found
      if (clock.elapsed() + WAIT_MS >= deadline)
        throw errors.unavailable({ message: STILL_SENT, retryAfter: LEASE_MS / 1000 })
      await clock.sleep(WAIT_MS)
    }
  }

  async function sendOnce(message: Message, deadline: number): Promise<End | Waiting> {
    const { id, content } = message
    const { channel } = content
    const carriers = carriersOf(content, providers)
    const turn: Turn = { id, channel, claim: newId(clock.now()), open: undefined }
    const [inserted] = await db.batch(rows.insertion(message, { turn, provider: carriers[0]!.name }))
    const isNew = inserted!.length > 0
    const held = isNew ? turn : await follow(message, deadline)
    if (!('claim' in held)) return held
    try {
      const ended = await deliver(held, carriers, { passes: PASSES, deadline, begun: isNew })
      // A text of which nobody knows stays claimed until its lease is over: then it is looked for again.
      const isOver = ended.status === 'waiting' && (isRepeatable(channel) || !ended.doubtful)
      return isOver ? await fail(held, ended) : ended
    } catch (error) {
      const isAway = error instanceof ApiError && error.status === 503
      throw isAway ? errors.unavailable({ message: INTERRUPTED, cause: error }) : error
    }
  }

  return {
    insertion: (message) => [
      ...rows.insertion(message),
      kind.enqueueSql(message.id, { id: `messaging-${message.id}` }),
    ],

    async send(message, limitMs) {
      const ended = await sendOnce(message, clock.elapsed() + limitMs)
      if (ended.status === 'sent') return { messageId: ended.messageId }
      throw messagingErrors.send_failed({
        message: ended.error,
        details: { channel: message.content.channel, provider: ended.provider },
      })
    },
  }
}
