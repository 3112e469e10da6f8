import { deriveKey, type Key } from '../../../base/crypto.ts'
import { errors, isPassing } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import type { Step } from '../../../db/database.ts'
import type { Job } from '../../../kernel/jobs/job.ts'
import type { SealedColumn } from '../../../kernel/secret/sealed.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { persist } from '../../../providers/attempt.ts'
import { isRepeatable, sendablesOf } from '../messages/message-content.ts'
import { createDelivery, type Pending } from './delivery.ts'
import { messagingErrors } from '../errors.ts'
import type { MessageEvents } from '../messages/message-events.ts'
import type { Providers } from '../providers/provider.ts'
import { createOutboxRows, LEASE_MS, type Claim, type OutboxMessage, type Settled } from './outbox-rows.ts'

/** How often a request tries, each time over all providers. */
const PASSES = 3
/** How often a job tries: about eight hours. */
const ATTEMPTS = 20
/** Attempts that find the message tried too often already; it is settled by the first of them that does not end its process. */
const LAST_ATTEMPTS = 10
const RETRY = { firstMs: 1_000, maxMs: 3_600_000, attempts: ATTEMPTS + LAST_ATTEMPTS }
const JOB_LIMIT_MS = 25_000
/** Places of their own: a mail server that hangs must not stop other jobs. */
export const POOL = { name: 'messaging', atOnce: 8 }
const WAIT_MS = 200

const UNSEALED = 'The message was sealed with another SIXWIRE_SECRET, and cannot be read.'
const ENDLESS = `It was tried ${ATTEMPTS} times, and the last time the server ended before it was done.`
const STILL_SENT = 'The message is still being sent: GET /messaging/logs shows its final state.'
const INTERRUPTED =
  'The database was away while the message was being sent. The outcome is unknown; it may still be sent. GET /messaging/logs shows its final state; repeat the call only with the same Idempotency-Key.'

/** What is encrypted under `SIXWIRE_SECRET` here: messages that are not settled. */
export const OUTBOX_SEALED: SealedColumn = {
  table: 'messaging_messages',
  key: ['id'],
  column: 'payload',
  purpose: 'messaging-outbox',
}

/** What the content of messages is sealed with. @param secret `SIXWIRE_SECRET` */
export const contentKeyOf = (secret: string): Key => deriveKey(secret, OUTBOX_SEALED.purpose)

export type Outbox = {
  /**
   * The steps that put a message of the service itself into the outbox, for the batch that decides it.
   *
   * @param message.keys messages with the same first one are sent in their order, one at a time
   */
  insertSql(message: OutboxMessage): Step[]
  /**
   * Sends a message while its caller waits, over all providers in their order, up to three times.
   *
   * @returns what the provider calls it
   * @throws SEND_FAILED if a provider refused it, none took it within the time, or the outcome is unknown, which the log
   *   tells later; UNAVAILABLE if it may still be sent
   */
  send(message: OutboxMessage, limitMs: number): Promise<{ messageId: string }>
  /**
   * Queues a failed message once more, with the content that it has.
   *
   * @param steps are kept with it or not at all
   * @returns false if it is not failed, or cannot be sent again
   */
  resend(id: string, steps: readonly Step[]): Promise<boolean>
}

type SendJob = { messageId: string; to?: string }

const jobIdOf = (messageId: string): string => `messaging-${messageId}`

/**
 * A message that was accepted is never forgotten, however the process dies: SMS is sent at most once; an email is resent
 * only if its outcome is unknown. Every step is a row before it is an action (`OutboxRows`), and every message has a job
 * until it is settled: the job of one that a request sends is due when the request must have ended.
 *
 * @param options.contentKey see `contentKeyOf`
 * @param options.keepsFailed whether the content of a failed message is kept, so that it can be sent again
 * @param options.reportTo the URL for the reports of a text, by its provider's name and our id of it
 */
export function createOutbox(
  { db, clock, log, jobs, metrics }: Pick<WireContext, 'db' | 'clock' | 'log' | 'jobs' | 'metrics'>,
  { events, providers }: { events: MessageEvents; providers: Providers },
  {
    reportTo,
    ...content
  }: {
    contentKey: Key
    keepsFailed: boolean
    reportTo: (provider: string, id: string) => string
  },
): Outbox {
  const rows = createOutboxRows({ db, clock, metrics }, { events }, content)
  const deliver = createDelivery({ clock, log }, { rows })
  const job = jobs.define(
    'messaging.send',
    {
      payload: Type.Object({ messageId: Type.String(), to: Type.Optional(Type.String()) }),
      lane: ({ to }) => to,
      retry: RETRY,
      pool: POOL,
    },
    sendQueued,
  )

  const fail = (
    claim: Claim,
    { provider, error, unknownOutcome }: Omit<Pending, 'status'>,
  ): Promise<Settled> =>
    persist(() => rows.settle(claim, { status: 'failed', provider, error }, unknownOutcome), clock)

  /** Sends a message that no caller waits for. Throws if it is to be retried. */
  async function sendQueued({ payload, attempt, deleteSql }: Job<SendJob>): Promise<void> {
    const claimResult = await rows.claim(payload.messageId)
    if (!claimResult) return
    const { content } = claimResult
    // With the message, not after it: a caller may repeat the call between, and needs a job of its own.
    const claim: Claim = { ...claimResult.claim, deleteJobSql: deleteSql }
    if (attempt > ATTEMPTS)
      return void (await fail(claim, { provider: null, error: ENDLESS, unknownOutcome: true }))
    const isLast = attempt === ATTEMPTS
    if (!content) {
      // Another replica may have the right secret: only this one must not throw the message away.
      if (!isLast) throw new Error(UNSEALED)
      return void (await fail(claim, { provider: null, error: UNSEALED, unknownOutcome: false }))
    }
    const deadline = clock.elapsed() + JOB_LIMIT_MS
    const sendables = sendablesOf(content, providers, reportTo)
    const outcome = await deliver(claim, sendables, { passes: 1, deadline })
    if (outcome.status !== 'pending') return
    if (!isLast) throw new Error(outcome.error)
    await fail(claim, outcome)
  }

  /** A message that is there already: the same call was made before, and its outcome is not known here. */
  async function follow(
    message: OutboxMessage,
    claim: Claim,
    jobStep: Step,
    deadline: number,
  ): Promise<Claim | Settled> {
    const reopened = await rows.reopen(message, claim, [jobStep])
    if (reopened) return reopened
    for (;;) {
      const finalState = await rows.finalState(message.id)
      if (finalState) return finalState
      if (clock.elapsed() + WAIT_MS >= deadline)
        throw errors.unavailable({
          message: STILL_SENT,
          details: { logId: message.id },
          retryAfter: LEASE_MS / 1000,
        })
      await clock.sleep(WAIT_MS)
    }
  }

  async function sendNow(message: OutboxMessage, deadline: number): Promise<Settled | Pending> {
    const { id, content } = message
    const { channel } = content
    const sendables = sendablesOf(content, providers, reportTo)
    const jobId = jobIdOf(id)
    const claim: Claim = {
      id,
      channel,
      token: newId(clock.now()),
      deleteJobSql: job.deleteSql(jobId),
      unknownCall: undefined,
    }
    const jobStep = job.enqueueSql(
      { messageId: id },
      {
        id: jobId,
        runAt: clock.now() + LEASE_MS,
        isBegun: true,
      },
    )
    const [inserted] = await db.batch([
      ...rows.insertSql(message, { claim, provider: sendables[0]!.name }),
      jobStep,
    ])
    const isNew = inserted.length > 0
    const result = isNew ? claim : await follow(message, claim, jobStep, deadline)
    if ('status' in result) return result
    try {
      const outcome = await deliver(result, sendables, { passes: PASSES, deadline, isBegun: isNew })
      // The job of a text whose outcome is unknown looks for it later.
      const isOver = outcome.status === 'pending' && (isRepeatable(channel) || !outcome.unknownOutcome)
      return isOver ? await fail(result, outcome) : outcome
    } catch (error) {
      throw isPassing(error)
        ? errors.unavailable({ message: INTERRUPTED, details: { logId: id }, cause: error })
        : error
    }
  }

  return {
    insertSql(message) {
      const to = message.keys[0]!
      return [
        ...rows.insertSql(message),
        // An earlier mail whose retry is far off would keep this one waiting.
        job.retryLaneSql(to),
        job.enqueueSql({ messageId: message.id, to }, { id: jobIdOf(message.id) }),
      ]
    },

    resend: (id, steps) =>
      rows.requeueFailed(id, [job.enqueueSql({ messageId: id }, { id: jobIdOf(id) }), ...steps]),

    async send(message, limitMs) {
      const outcome = await sendNow(message, clock.elapsed() + limitMs)
      if (outcome.status === 'sent') return { messageId: outcome.messageId }
      throw messagingErrors.send_failed({
        message: outcome.error,
        details: { channel: message.content.channel, provider: outcome.provider, logId: message.id },
      })
    },
  }
}
