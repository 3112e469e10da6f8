import { defineWire } from '../../kernel/wire/wire.ts'
import { createStorageProbe } from './health.ts'
import { frameSeries } from './overview/frame-series.ts'
import { sampleLevels } from './overview/series.ts'
import { coreRoutes } from './routes.ts'
import type { CoreContext } from './server-status.ts'
import { settingsDiagnosis } from './settings/settings-diagnosis.ts'
import { webhookDiagnosis } from './webhooks/webhook-diagnosis.ts'

export { ACTOR_KINDS, createAuditLog, type AuditLog, type LoggedEntry } from './audit/audit-log.ts'

const SAMPLE_MS = 600_000

/** Health, readiness, version and metrics of the server, and the webhooks that its events are sent to. */
export const core = defineWire({
  name: 'core',
  description: 'Health, readiness, version and metrics of the server, and webhooks.',
  setup({ db, clock, jobs, audit, policy, status, settings, metrics }: CoreContext) {
    const readStorage = createStorageProbe({ db, clock })
    metrics.gauge(
      {
        name: 'sixwire_database_writable',
        help: '1 if the database takes writes, 0 if it is full, read-only or damaged, or does not answer',
        labels: [],
      },
      async () => [{ labels: {}, value: (await readStorage()) === 'writable' ? 1 : 0 }],
    )
    jobs.every('sixwire.sample-levels', SAMPLE_MS, () => sampleLevels({ db, clock }, status.series()))
    return {
      routes: coreRoutes({ db, clock, audit, policy, readStorage, status, settings }),
      service: undefined,
      series: frameSeries({ db, clock }, { isLogged: status.logs.keeps !== undefined }),
      diagnoses: [webhookDiagnosis(status.webhooks), settingsDiagnosis(status.changes)],
    }
  },
})
