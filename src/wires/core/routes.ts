import { readFileSync } from 'node:fs'

import { Type } from '../../base/schema.ts'

import { errors } from '../../base/errors.ts'
import type { Settings } from '../../kernel/config.ts'
import type { Database } from '../../db/database.ts'
import { answer, route } from '../../http/route.ts'
import type { ServerStatus } from '../../kernel/wire.ts'
import { readHealth } from './health.ts'

const HealthFields = {
  status: Type.Union([Type.Literal('healthy'), Type.Literal('unhealthy')]),
  uptime: Type.Number({ description: 'Seconds since the start.' }),
  database: Type.Union([Type.Literal('connected'), Type.Literal('disconnected')]),
  latencyMs: Type.Union([Type.Number(), Type.Null()], {
    description: 'How long the database took to answer.',
  }),
  wires: Type.Record(Type.String(), Type.Union([Type.Literal('ready'), Type.Literal('error')])),
}
const Health = Type.Object(HealthFields, { title: 'Health' })

/** These answer while the database is away, so it can't count their calls. */
const PROBE = { limit: '600/min', limitIn: 'process' } as const

export function coreRoutes({
  db,
  server,
  settings,
}: {
  db: Database
  server: ServerStatus
  settings: Settings
}) {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const platform = (JSON.parse(manifest) as { version: string }).version

  return [
    route(
      'GET /health',
      {
        summary: 'Check whether the server works',
        access: 'public',
        ...PROBE,
        reply: { 200: Health, 503: Health },
      },
      async () => {
        const health = await readHealth(db, server)
        return answer(health, { status: health.status === 'healthy' ? 200 : 503 })
      },
    ),
    route(
      'GET /ready',
      {
        summary: 'Check whether the server takes requests',
        description: 'False until every wire has started, and again while the server goes down.',
        access: 'public',
        ...PROBE,
        reply: {
          200: Type.Object({ ready: Type.Literal(true) }),
          503: Type.Object({ ready: Type.Literal(false), reason: Type.String() }),
        },
      },
      () => {
        const state = server.state()
        if (state === 'ready') return { ready: true as const }
        const reason = state === 'starting' ? 'The server is starting.' : 'The server is going down.'
        return answer({ ready: false as const, reason }, { status: 503 })
      },
    ),
    route(
      'GET /info',
      {
        summary: 'Read names and versions; not in production',
        access: 'public',
        ...PROBE,
        reply: {
          200: Type.Object({
            name: Type.String(),
            version: Type.String({ description: "The application's own version." }),
            platform: Type.String({ description: "Sixwire's version." }),
            runtime: Type.String(),
            wires: Type.Array(Type.String()),
            uptime: Type.Number({ description: 'Seconds since the start.' }),
          }),
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
          wires: [...server.wires().keys()],
          uptime: server.uptime(),
        }
      },
    ),
    route(
      'GET /metrics',
      {
        summary: 'Read metrics for Prometheus',
        description: 'Answered on this machine only, or with a service key.',
        access: 'optional',
        ...PROBE,
        reply: { 200: Type.String() },
      },
      async ({ caller, isLocal }) => {
        if (caller?.kind !== 'key' && !isLocal)
          throw errors.forbidden({
            message: 'Metrics are answered on this machine only, or with a service key.',
          })
        const { text, contentType } = await server.metrics()
        return answer(text, { headers: { 'content-type': contentType } })
      },
    ),
  ] as const
}
