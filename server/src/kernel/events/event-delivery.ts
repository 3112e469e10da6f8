import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/crypto.ts'
import { leastIdOf } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import { Type } from '../../base/schema.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { JobKind, Jobs } from '../jobs/job.ts'
import type { WireMetrics } from '../telemetry/metrics.ts'
import { createClients, deliver, type DeliveryContext } from './deliver.ts'
import { jobIdOf } from './delivery-rows.ts'
import { createEvents, type EventBook } from './events.ts'
import type { WebhookEndpoint } from './webhook-option.ts'
import { declareWebhookGauges } from './webhook-metrics.ts'
import { enableSteps, type DeliveryKinds } from './enable-webhook.ts'

const HOUR_MS = 3_600_000
const KEPT_MS = 30 * 24 * HOUR_MS
const CLEAN_BATCH = 500
/** Places of each webhook: one that hangs delays no other. */
const AT_ONCE = 8
/** The faults of this server, such as a database that is away. Those of receivers are no attempts of the job. */
const RETRY = { firstMs: 1_000, maxMs: 600_000, attempts: Number.MAX_SAFE_INTEGER }

const Payload = Type.Object({ delivery: Type.String() })

export type EventDelivery = {
  events: EventBook
  kinds: DeliveryKinds
  /** Enters the webhooks of the configuration, once the tables exist. */
  start(): Promise<void>
  close(): void
}

/** Creates what publishes events and delivers them: a kind of jobs for each webhook, a lane for each record. */
export function createEventDelivery(
  context: { db: Database; clock: Clock; log: Logger; jobs: Jobs; metrics: WireMetrics },
  { configured }: { configured: readonly WebhookEndpoint[] },
): EventDelivery {
  const { db, clock, log, jobs, metrics } = context
  const kinds = new Map<string, JobKind<{ delivery: string }>>()
  const events = createEvents({ clock, jobs: kinds }, { webhooks: configured })
  const count = metrics.counter({
    name: 'sixwire_webhook_deliveries_total',
    help: 'Attempts to deliver events that this process has made since its start: delivered, attempt_failed, or failed for good',
    labels: ['webhook', 'result'],
  })
  const delivery: DeliveryContext = { db, clock, log, events, clients: createClients(clock), count }
  for (const webhook of configured) {
    const kind = `webhook:${webhook.name}`
    const pool = { name: kind, atOnce: AT_ONCE }
    kinds.set(
      webhook.name,
      jobs.define(
        kind,
        { payload: Payload, retry: RETRY, pool, neededFor: 'it delivers an event, which would stay waiting' },
        (job) => deliver(delivery, webhook, job),
      ),
    )
  }
  declareWebhookGauges(metrics, db, clock, configured)
  // Also where no webhook is configured any more.
  jobs.every('sixwire.webhooks-clean', HOUR_MS, () => deleteOld(db, clock.now()))
  return {
    events,
    kinds,
    start: () => enter(db, configured, kinds),
    close() {
      delivery.clients.local.close()
      delivery.clients.open.close()
    },
  }
}

/** Enters the webhooks of the configuration. One whose address has changed is switched on. */
async function enter(
  db: Database,
  configured: readonly WebhookEndpoint[],
  kinds: DeliveryKinds,
): Promise<void> {
  for (const { name, url } of configured) {
    const urlHash = sha256(url.href)
    const row = await db.get<{ url_hash: string }>(
      sql`select url_hash from sixwire_webhooks where name = ${name}`,
    )
    if (row?.url_hash === urlHash) continue
    await db.batch([
      sql`insert into sixwire_webhooks (name, url_hash) values (${name}, ${urlHash})
          on conflict (name) do update set url_hash = excluded.url_hash`,
      ...(row ? enableSteps(name, kinds.get(name)!) : []),
    ])
  }
}

/** Deletes deliveries after 30 days, those too that still wait, with their jobs. */
async function deleteOld(db: Database, now: number): Promise<void> {
  for (;;) {
    const rows = await db.all<{ id: string }>(sql`
      select id from sixwire_deliveries where id < ${leastIdOf(now - KEPT_MS)} order by id limit ${CLEAN_BATCH}`)
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    await db.batch([
      sql`delete from sixwire_jobs where id in (${sql.join(ids.map(jobIdOf))})`,
      sql`delete from sixwire_deliveries where id in (${sql.join(ids)})`,
    ])
  }
}
