import { randomBytes } from 'node:crypto'

import { errors, type ApiError } from '../../base/errors.ts'
import { Type } from '../../base/schema.ts'
import { succeedsWithin, within } from '../../base/within.ts'
import type { Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { HealthStatus } from '../../http/health-route.ts'
import type { ServerStatus } from './server-status.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'

const STORAGE = ['writable', 'full', 'read-only', 'damaged', 'unknown'] as const
const FAULTS: Record<string, Storage> = {
  [errors.storage_full.code]: 'full',
  [errors.storage_read_only.code]: 'read-only',
  [errors.storage_damaged.code]: 'damaged',
}

export const HealthFields = {
  uptime: Type.Number({ description: 'Seconds since the start.' }),
  database: Type.Enum(['connected', 'disconnected']),
  latencyMs: Type.Union([Type.Number(), Type.Null()], {
    description: 'Milliseconds that the database took to answer; null if it did not.',
  }),
  storage: Type.Enum(STORAGE, {
    description:
      'Whether the database takes writes: `damaged` if a part of it could not be read, `unknown` if it does not answer.',
  }),
  wires: Type.Record(Type.String(), Type.Enum(['ready', 'error'])),
}

const LONGEST_WAIT_MS = 2_000

const PROBE_MS = 10_000
// A scrape of metrics waits 2 seconds.
const PROBE_WAIT_MS = 1_500
const PROBE_BYTES = 6_144

export type Storage = (typeof STORAGE)[number]

export type Health = {
  status: HealthStatus
  uptime: number
  database: 'connected' | 'disconnected'
  /** Milliseconds of the database's ping; null if it did not answer. */
  latencyMs: number | null
  storage: Storage
  wires: Record<string, 'ready' | 'error'>
}

/** What tells whether the database takes writes: a write, at most every 10 seconds while they succeed. */
export function createStorageProbe({ db, clock }: Pick<WireContext, 'db' | 'clock'>): () => Promise<Storage> {
  let probing: Promise<Storage> | undefined
  let writableAt = -Infinity

  async function probe(): Promise<Storage> {
    const filler = randomBytes(PROBE_BYTES).toString('base64')
    try {
      await db.write(
        sql`insert into sixwire_write_probe (id, filler) values (1, ${filler})
            on conflict (id) do update set filler = excluded.filler`,
      )
      writableAt = clock.elapsed()
      return 'writable'
    } catch (error) {
      return FAULTS[(error as Partial<ApiError>).code ?? ''] ?? 'unknown'
    } finally {
      probing = undefined
    }
  }

  return async () => {
    if (db.isDamaged) return 'damaged'
    if (clock.elapsed() - writableAt < PROBE_MS) return 'writable'
    probing ??= probe()
    return within(PROBE_WAIT_MS, () => probing!).catch(() => 'unknown')
  }
}

/** Whether the check resolves in time. The wire's own health route and the log tell why it does not. */
const passes = (check: () => Promise<void>): Promise<boolean> => succeedsWithin(LONGEST_WAIT_MS, check)

/** Returns what checks the database and every wire concurrently; a check that takes over 2 s counts as failed. */
export function createHealth({
  db,
  status,
  readStorage,
}: {
  db: Database
  status: ServerStatus
  readStorage: () => Promise<Storage>
}): () => Promise<Health> {
  return async () => {
    const startedAt = performance.now()
    let latencyMs: number | null = null
    const [storage, connected, ...answers] = await Promise.all([
      readStorage(),
      passes(async () => {
        await db.ping()
        latencyMs = Math.round((performance.now() - startedAt) * 100) / 100
      }),
      ...[...status.health()].map(async ([name, check]) => [name, await passes(check)] as const),
    ])
    const isRefused = Object.values(FAULTS).includes(storage)
    const healthy = connected && !isRefused && answers.every(([, ready]) => ready)
    return {
      status: healthy ? 'healthy' : 'unhealthy',
      uptime: status.uptime(),
      database: connected ? 'connected' : 'disconnected',
      latencyMs,
      storage: connected ? storage : 'unknown',
      wires: Object.fromEntries(answers.map(([name, ready]) => [name, ready ? 'ready' : 'error'])),
    }
  }
}
