import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireMetrics } from '../../../kernel/telemetry/metrics.ts'
import { countSql } from './job-list.ts'

const oldestSql = (now: number): Sql<{ kind: string; due: number }> => sql`
  select kind, min(run_at) as due from sixwire_jobs
  where state = 'ready' and claimed_by is null and run_at <= ${now} group by kind`

/** The metrics of jobs, read from the database: every replica answers the same. */
export function declareJobMetrics(metrics: WireMetrics, db: Database, clock: Clock): void {
  metrics.gauge(
    {
      name: 'sixwire_jobs',
      help: 'Background jobs that are not done, from the database; those that run are ready too, and failed ones wait for sixwire jobs retry or drop',
      labels: ['kind', 'state'],
    },
    async () =>
      (await db.scan(countSql(clock.now()))).map(({ kind, state, count }) => ({
        labels: { kind, state },
        value: count,
      })),
  )
  metrics.gauge(
    {
      name: 'sixwire_jobs_oldest_due_seconds',
      help: 'How long the oldest job that is due has waited to be started, from the database; missing if none is due',
      labels: ['kind'],
    },
    async () => {
      const now = clock.now()
      const rows = await db.scan(oldestSql(now))
      return rows.map(({ kind, due }) => ({ labels: { kind }, value: (now - due) / 1000 }))
    },
  )
}
