import type { Step } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { JobKind } from '../jobs/job.ts'

/** The kinds of jobs that deliver events, by the names of the webhooks. */
export type DeliveryKinds = ReadonlyMap<string, JobKind<{ delivery: string }>>

/** The steps that switch a webhook on; its events are tried for three days from then on. */
export const enableSteps = (name: string, kind: JobKind<{ delivery: string }>): Step[] => [
  sql`update sixwire_webhooks set off_at = null, off_reason = null, failing_since = null, paused_until = null
      where name = ${name}`,
  sql`update sixwire_deliveries set attempts = 0, first_attempt_at = null, next_attempt_at = null
      where webhook = ${name} and state = 'waiting' and attempts > 0`,
  kind.hastenAllSql(),
]
