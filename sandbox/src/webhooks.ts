import type { Logger } from '../../server/src/base/logger.ts'
import type { Clock } from '../../server/src/base/clock.ts'
import { errors, type ApiError } from '../../server/src/base/errors.ts'
import { newId } from '../../server/src/base/ids.ts'
import { Type } from '../../server/src/base/schema.ts'
import { requireRow, type Database, type Step } from '../../server/src/db/database.ts'
import { sql, type Sql } from '../../server/src/db/sql.ts'
import type { Job, Jobs, NotYet } from '../../server/src/kernel/jobs/job.ts'
import { LATE_MS } from './callbacks.ts'
import type { ProviderFault } from './faults.ts'
import { postWebhook } from './webhook-request.ts'
import {
  ATTEMPTS,
  createWebhookRows,
  loggedOf,
  STATUSES,
  type LoggedWebhook,
  type Webhook,
  type WebhookRow,
  type WebhookStatus,
} from './webhook-rows.ts'

const FIRST_PAUSE_MS = 1_000
const POOL = { name: 'sandbox-webhooks', atOnce: 16 }

export type { Webhook }

/** The webhooks of one stand-in. */
export type WebhookDeliveries = {
  /** The steps that promise webhooks, for the batch of what they report. */
  insertSql(webhooks: readonly Webhook[], fault: ProviderFault['callback']): Step[]
  /** The statement that deletes all of them: those that were sent, and those that are still to be sent. */
  deleteSql(): Sql
  /** How many are still to be sent; those that are held are not. */
  waiting(): Promise<number>
}

export type WebhookTarget = {
  /** Where its webhooks go. */
  url: string
  /** Makes the headers each time one is sent. */
  sign: (webhook: { eventId: string; body: string }) => Record<string, string>
}

export type WebhookLog = {
  /** @param standIn its name */
  of(standIn: string, target: WebhookTarget): WebhookDeliveries
  /** The stand-ins that send webhooks. */
  readonly providers: readonly string[]
  /** The newest first. */
  list(filter: { provider?: string | undefined; limit: number }): Promise<LoggedWebhook[]>
  /**
   * Sends a webhook now, whatever its state: the same event again if it was delivered.
   *
   * @throws NOT_FOUND
   */
  resend(id: string): Promise<LoggedWebhook>
  /**
   * Sends a webhook so many milliseconds from now.
   *
   * @throws NOT_FOUND
   * @throws CONFLICT unless it waits or is held
   */
  delay(id: string, ms: number): Promise<LoggedWebhook>
  /**
   * Makes a webhook never be sent.
   *
   * @throws NOT_FOUND
   * @throws CONFLICT unless it waits or is held
   */
  drop(id: string): Promise<LoggedWebhook>
  counts(): Promise<Record<WebhookStatus, number>>
  /** A value that differs after each change. */
  version(): Promise<unknown>
  /** Deletes all webhooks of all stand-ins. */
  reset(): Promise<void>
}

/** The pause after an attempt: it doubles. */
const pauseAfter = (attempt: number): number => FIRST_PAUSE_MS * 2 ** (attempt - 1)

const notFound = (): ApiError => errors.not_found({ message: 'No webhook in the log has this id.' })

/**
 * Keeps webhooks as rows, and sends them as jobs: a restart loses none, and of several servers one sends each. A row names
 * the job that sends it, so that a job does nothing once the webhook was dropped, delayed or sent by another one.
 */
export function createWebhookLog({
  db,
  clock,
  jobs,
  log,
}: {
  db: Database
  clock: Clock
  jobs: Jobs
  log: Logger
}): WebhookLog {
  const rows = createWebhookRows({ db, clock })
  const targets = new Map<string, WebhookTarget>()
  const job = jobs.define(
    'sandbox.webhook',
    { payload: Type.Object({ webhookId: Type.String() }), pool: POOL },
    send,
  )

  async function send({
    id,
    payload: { webhookId },
    stopping,
  }: Job<{ webhookId: string }>): Promise<NotYet | void> {
    const row = await rows.find(webhookId)
    const target = row && targets.get(row.provider)
    if (!target || row.job !== id || row.status !== 'waiting') return
    const attempt = await postWebhook(
      target.url,
      { headers: target.sign({ eventId: row.event_id, body: row.body }), body: row.body },
      stopping,
    )
    const now = clock.now()
    if (attempt.error === null) {
      await db.write(rows.recordSql(row, attempt, { status: 'delivered', dueAt: row.due_at }))
      return
    }
    // What ends with the server is no attempt.
    if (stopping.aborted) throw new Error('the server ended before the webhook was answered')
    const attempts = row.attempts + 1
    if (attempts >= row.attempts_max) {
      await db.write(rows.recordSql(row, attempt, { status: 'failed', dueAt: row.due_at }))
      log.warn(
        { webhook: row.id, standIn: row.provider, type: row.type, reason: attempt.error },
        'a webhook of the sandbox failed: send it again at /sandbox#webhooks',
      )
      return
    }
    const againInMs = pauseAfter(ATTEMPTS - (row.attempts_max - attempts))
    await db.write(rows.recordSql(row, attempt, { status: 'waiting', dueAt: now + againInMs }))
    return { againInMs }
  }

  const enqueueSql = ({ id, job: jobId, due_at }: Pick<WebhookRow, 'id' | 'job' | 'due_at'>): Step =>
    job.enqueueSql({ webhookId: id }, { id: jobId, runAt: due_at })

  async function schedule(id: string, dueAt: number, from: readonly WebhookStatus[]): Promise<LoggedWebhook> {
    const row = await find(id)
    const jobId = newId(clock.now())
    const [[scheduled]] = await db.batch([
      requireRow(rows.scheduleSql(id, { job: jobId, dueAt, from }), () => settledError(row)),
      enqueueSql({ id, job: jobId, due_at: dueAt }),
    ])
    return loggedOf(scheduled!)
  }

  async function find(id: string): Promise<WebhookRow> {
    const row = await rows.find(id)
    if (!row) throw notFound()
    return row
  }

  return {
    of(standIn, target) {
      targets.set(standIn, target)
      return {
        insertSql(webhooks, fault) {
          const copies = fault === 'doubled' ? 2 : 1
          const steps = webhooks
            .flatMap((one) => Array.from({ length: copies }, () => one))
            .flatMap((one): Step[] => {
              const dueAt = one.dueAt + (fault === 'late' ? LATE_MS : 0)
              const { row, insertSql } = rows.create(
                { ...one, dueAt, provider: standIn, url: target.url },
                fault,
              )
              return row.status === 'waiting' ? [insertSql, enqueueSql(row)] : [insertSql]
            })
          return steps.length > 0 ? [...steps, rows.pruneSql(standIn)] : []
        },
        deleteSql: () => sql`delete from sandbox_webhooks where provider = ${standIn}`,
        waiting: () => rows.count(standIn, 'waiting'),
      }
    },
    get providers() {
      return [...targets.keys()]
    },
    list: async (filter) => (await rows.list(filter)).map(loggedOf),
    resend: (id) => schedule(id, clock.now(), STATUSES),
    delay: (id, ms) => schedule(id, clock.now() + ms, ['waiting', 'held']),
    async drop(id) {
      const row = await find(id)
      const [[deletedRow]] = await db.batch([requireRow(rows.dropSql(id), () => settledError(row))])
      return loggedOf(deletedRow!)
    },
    counts: () => rows.counts(),
    version: () => rows.version(),
    async reset() {
      await db.batch([sql`delete from sandbox_webhooks`, job.deleteAllSql()])
    },
  }
}

const settledError = ({ status }: WebhookRow): ApiError =>
  errors.conflict({
    message: `This webhook is ${status}: only one that is waiting or held can be delayed or dropped. Send it again instead.`,
  })
