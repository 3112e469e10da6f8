import { Type } from '../../base/schema.ts'

import { errors } from '../../base/errors.ts'
import { platformVersion } from '../../base/platform-version.ts'
import type { Settings } from '../../kernel/config/config.ts'
import type { Database } from '../../db/database.ts'
import { healthRoute } from '../../http/health-route.ts'
import { answer, route } from '../../http/route.ts'
import type { CoreContext, ServerStatus } from './server-status.ts'
import { createHealth, HealthFields, type Storage } from './health.ts'
import { logEndpoints } from './request-log/log-endpoints.ts'
import { seriesEndpoint } from './overview/series-endpoint.ts'
import { overviewEndpoints } from './overview/overview-endpoints.ts'
import { jobEndpoints } from './jobs/job-endpoints.ts'
import { settingsEndpoints } from './settings/settings-endpoints.ts'
import { webhookEndpoints } from './webhooks/webhook-endpoints.ts'

/** These answer while the database is unreachable, so calls are counted in the process. */
const PROBES = { rate: '600/min', countedIn: 'process' } as const

export function coreRoutes({
  db,
  clock,
  audit,
  policy,
  readStorage,
  status,
  settings,
}: Pick<CoreContext, 'clock' | 'audit' | 'policy'> & {
  db: Database
  readStorage: () => Promise<Storage>
  status: ServerStatus
  settings: Settings
}) {
  const platform = platformVersion()
  const readHealth = createHealth({ db, status, readStorage })
  const webhooks = webhookEndpoints(status.webhooks)
  const logs = logEndpoints({ logs: status.logs, policy })
  const jobs = jobEndpoints(status.jobs)
  const { overview, config, screens } = overviewEndpoints({ status, settings, readHealth })
  const { secret, settings: canChange } = settings
  const ofConsole = settingsEndpoints({ db, clock, audit, status, secret, canChange })
  const operatorRoutes = [
    route('GET /core/overview', ...overview),
    route('GET /core/series', ...seriesEndpoint({ db, clock, all: () => status.series() })),
    route('GET /core/config', ...config),
    route('GET /core/settings', ...ofConsole.get),
    route('PATCH /core/settings', ...ofConsole.change),
    route('POST /core/settings/versions/:version/restore', ...ofConsole.restore),
    route('GET /core/screens', ...screens),
    route('GET /core/logs', ...logs.list),
    route('GET /core/logs/stream', ...logs.stream),
    route('GET /core/logs/faults', ...logs.faults),
    route('GET /core/logs/routes', ...logs.routes),
    route('POST /core/logs/faults/:id/resolve', ...logs.resolve),
    route('GET /core/jobs', ...jobs.list),
    route('GET /core/jobs/counts', ...jobs.counts),
    route('POST /core/jobs/retry', ...jobs.retryAll),
    route('GET /core/jobs/:id', ...jobs.get),
    route('DELETE /core/jobs/:id', ...jobs.discard),
    route('POST /core/jobs/:id/retry', ...jobs.retry),
    route('GET /core/webhooks', ...webhooks.list),
    route('POST /core/webhooks/:name/enable', ...webhooks.enable),
    route('GET /core/webhooks/deliveries', ...webhooks.deliveries),
    route('POST /core/webhooks/deliveries/:id/retry', ...webhooks.retry),
  ] as const
  // Without accounts nobody could call them.
  const hasAccounts = settings.load?.includes('auth') ?? true

  return [
    healthRoute(
      'GET /health',
      {
        title: 'Health',
        summary: 'Check whether the server works',
        fields: HealthFields,
        countedIn: PROBES.countedIn,
      },
      readHealth,
    ),
    route(
      'GET /ready',
      {
        summary: 'Check whether the server accepts requests',
        description: 'False until every wire has started, and while the server shuts down.',
        access: 'public',
        limit: PROBES,
        reply: {
          200: Type.Object({ ready: Type.Literal(true) }, { title: 'Ready' }),
          503: Type.Object({ ready: Type.Literal(false), reason: Type.String() }, { title: 'NotReady' }),
        },
      },
      () => {
        const state = status.state()
        if (state === 'ready') return { ready: true as const }
        const reason = state === 'starting' ? 'The server is starting.' : 'The server is shutting down.'
        return answer({ ready: false as const, reason }, { status: 503 })
      },
    ),
    route(
      'GET /info',
      {
        summary: 'Get name, versions and wires',
        access: 'public',
        description: 'Not available in production.',
        limit: PROBES,
        reply: {
          200: Type.Object(
            {
              name: Type.String(),
              version: Type.String({ description: "The application's own version." }),
              platform: Type.String({ description: "Sixwire's version." }),
              runtime: Type.String(),
              wires: Type.Array(Type.String()),
              uptime: Type.Number({ description: 'Seconds since the start.' }),
            },
            { title: 'ServerInfo' },
          ),
        },
        errors: [errors.not_found],
      },
      () => {
        if (settings.production) throw errors.not_found()
        return {
          name: settings.name,
          version: settings.version,
          platform,
          runtime: `node ${process.version}`,
          wires: [...status.health().keys()],
          uptime: status.uptime(),
        }
      },
    ),
    route(
      'GET /metrics',
      {
        summary: 'Get metrics for Prometheus',
        description: 'Available to calls from this machine, or with a service key.',
        access: 'optional',
        limit: PROBES,
        reply: { 200: Type.String() },
      },
      async ({ caller, isLocal }) => {
        if (caller?.kind !== 'key' && !isLocal)
          throw errors.forbidden({
            message:
              'Metrics are available from this machine only, or with a service key of the scope core:read.',
          })
        const { text, contentType } = await status.metrics()
        return answer(text, { headers: { 'content-type': contentType } })
      },
    ),
    ...(hasAccounts ? operatorRoutes : []),
  ] as const
}
