import { isLoopbackAddress } from '../../base/ip-address.ts'
import type { Logger } from '../../base/logger.ts'
import type { Clock } from '../../base/clock.ts'
import type { Database, Step } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import { createOutbound, type Outbound, type Reply } from '../../outbound/outbound.ts'
import type { Job, NotYet } from '../jobs/job.ts'
import type { DeliveryRow } from './delivery-rows.ts'
import type { EventBook } from './events.ts'
import type { WebhookEndpoint } from './webhook-option.ts'
import { pauseAfter, readRetryAfter, TRIED_MS } from './retry-schedule.ts'
import { signatureHeaders } from './signature.ts'

const CALL_MS = 15_000
const ANSWER_BYTES = 262_144
/** How often an event is looked at whose webhook is off: switching it on has them delivered at once. */
const OFF_MS = 3_600_000
const GONE = 410

export type DeliveryContext = {
  db: Database
  clock: Clock
  log: Logger
  events: Pick<EventBook, 'bodyOf'>
  clients: Clients
  count: (labels: { webhook: string; result: 'delivered' | 'attempt_failed' | 'failed' }) => void
}

/** The one for addresses of this machine, and the one for all others, which refuses those that are not of the internet. */
export type Clients = { local: Outbound; open: Outbound }

export const createClients = (clock: Clock): Clients => {
  const options = { clock, limitMs: CALL_MS, maxBytes: ANSWER_BYTES }
  return {
    local: createOutbound({ ...options, isRefused: (address) => !isLoopbackAddress(address) }),
    open: createOutbound({ ...options, refusePrivate: true }),
  }
}

type Claimed = DeliveryRow & {
  failing_since: number | null
  paused_until: number | null
  off_at: number | null
}

/** Why an attempt failed. */
type Failure = { status: number | null; error: string; askedMs?: number | undefined }

/** Sends an event to its webhook: the work of its job. */
export async function deliver(
  context: DeliveryContext,
  webhook: WebhookEndpoint,
  { payload, deleteSql, stopping }: Pick<Job<{ delivery: string }>, 'payload' | 'deleteSql' | 'stopping'>,
): Promise<NotYet | void> {
  const { db, clock } = context
  const row = await db.get<Claimed>(sql`
    select d.*, w.failing_since, w.paused_until, w.off_at
    from sixwire_deliveries d left join sixwire_webhooks w on w.name = d.webhook
    where d.id = ${payload.delivery}`)
  if (!row || row.state !== 'waiting') return
  const startedAt = clock.now()
  if (row.off_at !== null) return { againInMs: OFF_MS }
  if (row.paused_until !== null && row.paused_until > startedAt)
    return { againInMs: row.paused_until - startedAt }
  const reply = await send(context, webhook, row, stopping)
  if (stopping.aborted && reply.kind !== 'answered') throw new Error(reply.reason)
  const failure = failureOf(reply, clock.now())
  if (failure) return recordFailure(context, { row, failure, startedAt, deleteSql })
  await db.batch([
    sql`update sixwire_deliveries set state = 'delivered', attempts = attempts + 1, next_attempt_at = null,
          last_status = ${(reply as { status: number }).status}, last_error = null, delivered_at = ${clock.now()}
        where id = ${row.id} and state = 'waiting'`,
    // Not each time: all deliveries would wait for this row.
    ...(row.failing_since === null && row.paused_until === null
      ? []
      : [
          sql`update sixwire_webhooks set failing_since = null, paused_until = null where name = ${row.webhook}`,
        ]),
    deleteSql,
  ])
  context.count({ webhook: row.webhook, result: 'delivered' })
}

function send(
  { clock, events, clients }: DeliveryContext,
  { url, keys, isLocal }: WebhookEndpoint,
  row: DeliveryRow,
  signal: AbortSignal,
): Promise<Reply> {
  const body = events.bodyOf({ type: row.type, source: row.source, createdAt: row.created_at })
  const timestamp = Math.floor(clock.now() / 1000)
  return (isLocal ? clients.local : clients.open).call(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ id: row.event_id, timestamp, body }, keys),
    },
    body,
    signal,
  })
}

/** Why an attempt failed; undefined if it did not. */
function failureOf(reply: Reply, now: number): Failure | undefined {
  if (reply.kind !== 'answered') return { status: null, error: reply.reason }
  const { status, headers } = reply
  if (status >= 200 && status < 300) return undefined
  const isBusy = status === 429 || status === 503
  return {
    status,
    error:
      status >= 300 && status < 400
        ? `it answered ${status}: redirects are not followed`
        : `it answered ${status}`,
    ...(isBusy && { askedMs: readRetryAfter(headers['retry-after'], now) }),
  }
}

async function recordFailure(
  { db, clock, log, count }: DeliveryContext,
  {
    row,
    failure: { status, error, askedMs },
    startedAt,
    deleteSql,
  }: { row: Claimed; failure: Failure; startedAt: number; deleteSql: Job['deleteSql'] },
): Promise<NotYet | void> {
  const now = clock.now()
  const attempts = row.attempts + 1
  const firstAt = row.first_attempt_at ?? startedAt
  const failingSince = row.failing_since ?? startedAt
  const pauseMs = pauseAfter({ attempts, elapsedMs: now - firstAt, askedMs })
  const offReason =
    status === GONE ? 'it answered 410 (Gone)' : now - failingSince >= TRIED_MS ? error : undefined
  const isFailed = pauseMs === undefined && offReason === undefined
  const pausedUntil = askedMs === undefined || pauseMs === undefined ? null : now + pauseMs
  const nextAt = offReason !== undefined || pauseMs === undefined ? null : now + pauseMs
  const steps: Step[] = [
    sql`update sixwire_deliveries set state = ${isFailed ? 'failed' : 'waiting'}, attempts = ${attempts},
          first_attempt_at = ${firstAt}, next_attempt_at = ${nextAt}, last_status = ${status}, last_error = ${error}
        where id = ${row.id} and state = 'waiting'`,
  ]
  if (row.failing_since === null || pausedUntil !== null)
    steps.push(sql`
      update sixwire_webhooks set failing_since = coalesce(failing_since, ${startedAt}),
        paused_until = coalesce(${pausedUntil}, paused_until)
      where name = ${row.webhook}`)
  const offSql = sql`
    update sixwire_webhooks set off_at = ${now}, off_reason = ${offReason ?? null}
    where name = ${row.webhook} and off_at is null returning name`
  const [, switchedOff] = await db.batch([
    steps,
    offReason === undefined ? [] : [offSql],
    isFailed ? [deleteSql] : [],
  ])
  const about = { webhook: row.webhook, delivery: row.id, type: row.type, attempts, reason: error }
  count({ webhook: row.webhook, result: isFailed ? 'failed' : 'attempt_failed' })
  if (isFailed) log.error(about, 'an event could not be delivered for three days: it is given up')
  else log.warn(about, 'an event could not be delivered')
  if (switchedOff.flat().length > 0)
    log.error(
      { webhook: row.webhook, reason: offReason },
      'a webhook is switched off: its events wait until POST /core/webhooks/:name/enable',
    )
  if (offReason !== undefined) return { againInMs: OFF_MS }
  return isFailed ? undefined : { againInMs: pauseMs! }
}
