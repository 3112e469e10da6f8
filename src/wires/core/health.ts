import { Type } from '../../base/schema.ts'
import { succeedsWithin } from '../../base/within.ts'
import type { Database } from '../../db/database.ts'
import type { HealthStatus } from '../../http/health-route.ts'
import type { ServerStatus } from '../../kernel/wire.ts'

export const HealthFields = {
  uptime: Type.Number({ description: 'Seconds since the start.' }),
  database: Type.Enum(['connected', 'disconnected']),
  latencyMs: Type.Union([Type.Number(), Type.Null()], {
    description: 'Milliseconds that the database took to answer; null if it did not.',
  }),
  wires: Type.Record(Type.String(), Type.Enum(['ready', 'error'])),
}

const LONGEST_WAIT_MS = 2_000

export type Health = {
  status: HealthStatus
  uptime: number
  database: 'connected' | 'disconnected'
  /** Milliseconds of the database's ping; null if it did not answer. */
  latencyMs: number | null
  wires: Record<string, 'ready' | 'error'>
}

/** Whether the check resolves in time. The wire's own health route and the log tell why it does not. */
const passes = (check: () => Promise<void>): Promise<boolean> => succeedsWithin(LONGEST_WAIT_MS, check)

/** Checks the database and every wire concurrently; a check that takes over 2 s counts as failed. */
export async function readHealth(db: Database, server: ServerStatus): Promise<Health> {
  const begun = performance.now()
  let latencyMs: number | null = null
  const [connected, ...answers] = await Promise.all([
    passes(async () => {
      await db.ping()
      latencyMs = Math.round((performance.now() - begun) * 100) / 100
    }),
    ...[...server.wires()].map(async ([name, check]) => [name, await passes(check)] as const),
  ])
  const healthy = connected && answers.every(([, ready]) => ready)
  return {
    status: healthy ? 'healthy' : 'unhealthy',
    uptime: server.uptime(),
    database: connected ? 'connected' : 'disconnected',
    latencyMs,
    wires: Object.fromEntries(answers.map(([name, ready]) => [name, ready ? 'ready' : 'error'])),
  }
}
