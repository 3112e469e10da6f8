import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { allRows } from '../../../base/row-filter.ts'
import { requireRow, type Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { Page } from '../../../http/page.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import { createCountedList } from '../../../kernel/requests/counted-list.ts'
import {
  DELIVERY_COLUMNS,
  jobIdOf,
  jobsSql,
  type DeliveryRow,
  type DeliveryState,
} from '../../../kernel/events/delivery-rows.ts'
import { enableSteps, type DeliveryKinds } from '../../../kernel/events/enable-webhook.ts'
import type { WebhookEndpoint } from '../../../kernel/events/webhook-option.ts'

/** A webhook as administrators see it, without its secret. */
export type ShownWebhook = {
  name: string
  /** Without what is behind a ?, which may be a secret. */
  url: string
  events: string[]
  state: 'on' | 'off'
  /** Events that are not delivered yet. */
  waiting: number
  failingSince?: string
  offSince?: string
  offReason?: string
}

/** A delivery as administrators see it, without the body. */
export type ShownDelivery = {
  _id: string
  /** The `webhook-id` of the event, by which its receiver notices a repetition. */
  eventId: string
  webhook: string
  type: string
  record: string
  state: DeliveryState
  attempts: number
  lastStatus?: number
  lastError?: string
  nextAttemptAt?: string
  deliveredAt?: string
  createdAt: string
}

export type DeliveryQuery = { state?: DeliveryState; webhook?: string; type?: string }

/** What administrators do with webhooks. */
export type WebhookOperations = {
  list(): Promise<ShownWebhook[]>
  /** Switches a webhook on: what waits is delivered from now on. @throws NOT_FOUND */
  enable(name: string, actor?: Actor): Promise<ShownWebhook>
  /** Reads one page, newest first. */
  deliveries(
    query: DeliveryQuery,
    page: Page,
  ): Promise<{ deliveries: ShownDelivery[]; total: number | undefined; nextCursor?: string }>
  /**
   * Sends an event again, one that was delivered too; one that waits for its retry is sent now.
   *
   * @throws NOT_FOUND; CONFLICT if its webhook is off or not configured any more
   */
  retry(id: string, actor?: Actor): Promise<ShownDelivery>
}

type WebhookRow = {
  name: string
  failing_since: number | null
  off_at: number | null
  off_reason: string | null
  waiting: number
}

/** @param kinds of the jobs, by the names of the webhooks */
export function createWebhooks(
  { db, log, audit }: { db: Database; log: Logger; audit: Audit },
  { configured, kinds }: { configured: readonly WebhookEndpoint[]; kinds: DeliveryKinds },
): WebhookOperations {
  const readPage = createCountedList<DeliveryRow>(
    { db },
    {
      name: 'webhook.deliveries',
      table: sql.literal('sixwire_deliveries'),
      columns: DELIVERY_COLUMNS,
    },
  )

  async function list(): Promise<ShownWebhook[]> {
    if (configured.length === 0) return []
    const rows = await db.scan<WebhookRow>(sql`
      select name, failing_since, off_at, off_reason,
        (select count(*) from sixwire_deliveries where webhook = name and state = 'waiting') as waiting
      from sixwire_webhooks`)
    return configured.map((webhook) =>
      shownWebhook(
        webhook,
        rows.find(({ name }) => name === webhook.name),
      ),
    )
  }

  return {
    list,

    async enable(name, actor = COMMAND_LINE) {
      const kind = kinds.get(name)
      if (!kind) throw errors.not_found({ message: `There is no webhook ${JSON.stringify(name)}.` })
      await db.batch([
        ...enableSteps(name, kind),
        audit.entrySql(actor, { action: 'webhook.enabled', target: `webhook:${name}` }),
      ])
      log.info({ webhook: name }, 'a webhook is switched on')
      return (await list()).find((one) => one.name === name)!
    },

    async deliveries({ state, webhook, type }, page) {
      // One condition at least: these are counted when they are read, and not as they come and go.
      const conditions: Sql[] = [
        sql.literal('1 = 1'),
        ...(state === undefined ? [] : [sql`state = ${state}`]),
        ...(webhook === undefined ? [] : [sql`webhook = ${webhook}`]),
        ...(type === undefined ? [] : [sql`type = ${type}`]),
      ]
      const { rows, ...rest } = await readPage(allRows, conditions, page)
      return { deliveries: rows.map(shownDelivery), ...rest }
    },

    async retry(id, actor = COMMAND_LINE) {
      const read = (): Promise<DeliveryRow | undefined> =>
        db.get<DeliveryRow>(sql`select ${DELIVERY_COLUMNS} from sixwire_deliveries where id = ${id}`)
      const row = await read()
      if (!row) throw errors.not_found({ message: `There is no delivery ${JSON.stringify(id)}.` })
      const kind = kinds.get(row.webhook)
      if (!kind) throw errors.conflict({ message: `The webhook ${row.webhook} is not configured any more.` })
      const isOff = () =>
        errors.conflict({
          message: `The webhook ${row.webhook} is off: POST /core/webhooks/${row.webhook}/enable has its events delivered.`,
        })
      await db.batch([
        requireRow(
          sql`update sixwire_webhooks set paused_until = null where name = ${row.webhook} and off_at is null returning name`,
          isOff,
        ),
        sql`update sixwire_deliveries set state = 'waiting', first_attempt_at = null, next_attempt_at = null, delivered_at = null
            where id = ${id}`,
        kind.hastenSql(jobIdOf(id)),
        kind.enqueueEachSql(jobsSql(sql`id = ${id}`)),
        audit.entrySql(actor, {
          action: 'delivery.retried',
          target: `delivery:${id}`,
          before: { webhook: row.webhook, type: row.type, state: row.state, attempts: row.attempts },
        }),
      ])
      return shownDelivery((await read()) ?? row)
    },
  }
}

const shownWebhook = ({ name, url, events }: WebhookEndpoint, row: WebhookRow | undefined): ShownWebhook => ({
  name,
  url: url.origin + url.pathname,
  events: [...events],
  state: row && row.off_at !== null ? 'off' : 'on',
  waiting: row?.waiting ?? 0,
  ...(row && row.failing_since !== null && { failingSince: isoTime(row.failing_since) }),
  ...(row && row.off_at !== null && { offSince: isoTime(row.off_at) }),
  ...(row && row.off_reason !== null && { offReason: row.off_reason }),
})

const shownDelivery = (row: DeliveryRow): ShownDelivery => ({
  _id: row.id,
  eventId: row.event_id,
  webhook: row.webhook,
  type: row.type,
  record: row.record,
  state: row.state,
  attempts: row.attempts,
  ...(row.last_status !== null && { lastStatus: row.last_status }),
  ...(row.last_error !== null && { lastError: row.last_error }),
  ...(row.next_attempt_at !== null && { nextAttemptAt: isoTime(row.next_attempt_at) }),
  ...(row.delivered_at !== null && { deliveredAt: isoTime(row.delivered_at) }),
  createdAt: isoTime(row.created_at),
})
