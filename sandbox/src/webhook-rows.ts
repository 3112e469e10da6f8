import { isoTime } from '../../server/src/base/clock.ts'
import { newId } from '../../server/src/base/ids.ts'
import { parseJson } from '../../server/src/base/json.ts'
import { sql, type Sql } from '../../server/src/db/sql.ts'
import type { ProviderFault } from './faults.ts'
import type { DeliveryAttempt } from './webhook-request.ts'
import type { StandInsContext } from '../../server/src/kernel/wire/stand-ins.ts'

/** Webhooks of each stand-in that are kept; the oldest are deleted once they do not wait. */
const KEPT = 1_000

/** Attempts until a webhook fails: within some two minutes. */
export const ATTEMPTS = 8

export const STATUSES = ['waiting', 'held', 'delivered', 'failed', 'dropped', 'lost'] as const
export type WebhookStatus = (typeof STATUSES)[number]

/** A webhook that a stand-in is to send to the application. */
export type Webhook = {
  /** The provider's id of the event; it stays the same when the webhook is sent again. */
  eventId: string
  /** `checkout.session.completed`. */
  type: string
  /** The object that it is about, for the page. */
  objectId: string
  /** The body, exactly as it is sent. */
  body: string
  /** Milliseconds since 1970. */
  dueAt: number
}

/** A webhook as the log shows it. Times are ISO 8601. */
export type LoggedWebhook = {
  id: string
  provider: string
  eventId: string
  type: string
  objectId: string
  /** `lost` by a fault, `dropped` by hand, `failed` after the last attempt; `held` until it is sent or dropped by hand. */
  status: WebhookStatus
  attempts: number
  /** HTTP status of the application's last answer; null if there was none. */
  lastStatus: number | null
  /** Why the last attempt failed: what the application answered, or why it could not be reached. */
  lastError: string | null
  createdAt: string
  dueAt: string
  deliveredAt: string | null
  url: string
  /** Headers of the last attempt: each attempt is signed again. */
  headers: Record<string, string> | null
  body: string
}

export type WebhookRow = {
  id: string
  provider: string
  event_id: string
  type: string
  object_id: string
  body: string
  status: WebhookStatus
  job: string
  url: string
  headers: string | null
  attempts: number
  attempts_max: number
  last_status: number | null
  last_error: string | null
  created_at: number
  due_at: number
  delivered_at: number | null
}

const COLUMNS = sql.literal(
  `id, provider, event_id, type, object_id, body, status, job, url, headers, attempts, attempts_max, last_status,
   last_error, created_at, due_at, delivered_at`,
)

export const loggedOf = (row: WebhookRow): LoggedWebhook => ({
  id: row.id,
  provider: row.provider,
  eventId: row.event_id,
  type: row.type,
  objectId: row.object_id,
  status: row.status,
  attempts: row.attempts,
  lastStatus: row.last_status,
  lastError: row.last_error,
  createdAt: isoTime(row.created_at),
  dueAt: isoTime(row.due_at),
  deliveredAt: row.delivered_at === null ? null : isoTime(row.delivered_at),
  url: row.url,
  headers: row.headers === null ? null : (parseJson(row.headers) as Record<string, string>),
  body: row.body,
})

/** The rows of the log. */
export type WebhookRows = {
  create(
    webhook: Webhook & { provider: string; url: string },
    fault: ProviderFault['callback'],
  ): { row: WebhookRow; insertSql: Sql }
  /** Deletes what is beyond the bound, in the batch of the inserts. */
  pruneSql(provider: string): Sql
  find(id: string): Promise<WebhookRow | undefined>
  /** The newest first. */
  list(filter: { provider?: string | undefined; limit: number }): Promise<WebhookRow[]>
  count(provider: string, status: WebhookStatus): Promise<number>
  /** How many webhooks are in each state. */
  counts(): Promise<Record<WebhookStatus, number>>
  /** A value that differs after each change. */
  version(): Promise<unknown>
  /** Makes a webhook wait for a job, if it is in one of the states. */
  scheduleSql(
    id: string,
    next: { job: string; dueAt: number; from: readonly WebhookStatus[] },
  ): Sql<WebhookRow>
  dropSql(id: string): Sql<WebhookRow>
  /** Records an attempt of a job. The state stays if another job sends it meanwhile, or it was dropped. */
  recordSql(row: WebhookRow, attempt: DeliveryAttempt, next: { status: WebhookStatus; dueAt: number }): Sql
}

export function createWebhookRows({ db, clock }: Pick<StandInsContext, 'db' | 'clock'>): WebhookRows {
  const inStates = (states: readonly WebhookStatus[]): Sql => sql`status in (${sql.join(states)})`
  return {
    create({ provider, eventId, type, objectId, body, dueAt, url }, fault) {
      const now = clock.now()
      const due = Math.max(now, dueAt)
      const row: WebhookRow = {
        id: newId(now),
        provider,
        event_id: eventId,
        type,
        object_id: objectId,
        body,
        status: fault === 'held' || fault === 'lost' ? fault : 'waiting',
        job: newId(now),
        url,
        headers: null,
        attempts: 0,
        attempts_max: ATTEMPTS,
        last_status: null,
        last_error: null,
        created_at: now,
        due_at: due,
        delivered_at: null,
      }
      return {
        row,
        insertSql: sql`
          insert into sandbox_webhooks (${COLUMNS}, changed_at)
          values (${row.id}, ${provider}, ${eventId}, ${type}, ${objectId}, ${body}, ${row.status}, ${row.job}, ${url},
                  null, 0, ${ATTEMPTS}, null, null, ${now}, ${due}, null, ${now})`,
      }
    },
    pruneSql: (provider) => sql`
      delete from sandbox_webhooks
      where provider = ${provider} and status not in ('waiting', 'held')
        and id <= (select id from sandbox_webhooks where provider = ${provider}
                   order by id desc limit 1 offset ${KEPT})`,
    find: (id) => db.get<WebhookRow>(sql`select ${COLUMNS} from sandbox_webhooks where id = ${id}`),
    list: ({ provider, limit }) =>
      db.scan<WebhookRow>(sql`
        select ${COLUMNS} from sandbox_webhooks
        where ${provider === undefined ? sql.literal('1 = 1') : sql`provider = ${provider}`}
        order by id desc limit ${limit}`),
    async count(provider, status) {
      const [row] = await db.scan<{ count: number }>(sql`
        select count(*) as count from sandbox_webhooks where provider = ${provider} and status = ${status}`)
      return row!.count
    },
    async counts() {
      const rows = await db.scan<{ status: WebhookStatus; count: number }>(
        sql`select status, count(*) as count from sandbox_webhooks group by status`,
      )
      const counts = new Map(rows.map(({ status, count }) => [status, count]))
      return Object.fromEntries(STATUSES.map((status) => [status, counts.get(status) ?? 0])) as Record<
        WebhookStatus,
        number
      >
    },
    version: () =>
      db.scan(sql`
        select provider, status, count(*) as count, max(id) as newest, sum(attempts) as attempts,
               max(changed_at) as changed_at
        from sandbox_webhooks group by provider, status order by provider, status`),
    scheduleSql: (id, { job, dueAt, from }) => sql<WebhookRow>`
      update sandbox_webhooks
      set status = 'waiting', job = ${job}, due_at = ${dueAt}, attempts_max = attempts + ${ATTEMPTS},
          changed_at = ${clock.now()}
      where id = ${id} and ${inStates(from)}
      returning ${COLUMNS}`,
    dropSql: (id) => sql<WebhookRow>`
      update sandbox_webhooks set status = 'dropped', changed_at = ${clock.now()}
      where id = ${id} and ${inStates(['waiting', 'held'])}
      returning ${COLUMNS}`,
    recordSql({ id, job }, { url, headers, status: answer, error }, { status, dueAt }) {
      const now = clock.now()
      const isOurs = sql`job = ${job} and status = 'waiting'`
      return sql`
        update sandbox_webhooks
        set status = case when ${isOurs} then ${status} else status end,
            due_at = case when ${isOurs} then ${dueAt} else due_at end,
            delivered_at = coalesce(${error === null ? now : null}, delivered_at),
            attempts = attempts + 1, last_status = ${answer}, last_error = ${error}, url = ${url},
            headers = ${JSON.stringify(headers)}, changed_at = ${now}
        where id = ${id}`
    },
  }
}
