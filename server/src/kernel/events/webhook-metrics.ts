import type { Clock } from '../../base/clock.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { WireMetrics } from '../telemetry/metrics.ts'
import type { WebhookEndpoint } from './webhook-option.ts'

/** The metrics of webhooks that are read from the database: every replica answers the same. */
export function declareWebhookGauges(
  metrics: WireMetrics,
  db: Database,
  clock: Clock,
  configured: readonly WebhookEndpoint[],
): void {
  metrics.gauge(
    {
      name: 'sixwire_webhook_oldest_waiting_seconds',
      help: 'How long the oldest event that is not delivered has waited, from the database; missing if none waits',
      labels: ['webhook'],
    },
    async () => {
      if (configured.length === 0) return []
      const rows = await db.scan<{ webhook: string; oldest: number }>(sql`
        select webhook, min(created_at) as oldest from sixwire_deliveries where state = 'waiting' group by webhook`)
      return rows.map(({ webhook, oldest }) => ({
        labels: { webhook },
        value: (clock.now() - oldest) / 1000,
      }))
    },
  )
  metrics.gauge(
    {
      name: 'sixwire_webhook_off',
      help: 'Whether a webhook is switched off (1) because it failed for three days or answered 410, from the database',
      labels: ['webhook'],
    },
    async () => {
      if (configured.length === 0) return []
      const rows = await db.all<{ name: string; off_at: number | null }>(
        sql`select name, off_at from sixwire_webhooks`,
      )
      return configured.map(({ name }) => ({
        labels: { webhook: name },
        value: rows.some((row) => row.name === name && row.off_at !== null) ? 1 : 0,
      }))
    },
  )
}
