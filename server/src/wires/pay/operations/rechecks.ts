import type { Clock } from '../../../base/clock.ts'
import { Type } from '../../../base/schema.ts'
import type { Step } from '../../../db/database.ts'
import type { Jobs } from '../../../kernel/jobs/job.ts'
import type { Reconciled } from './reconcile.ts'

/** Places of their own: a provider that hangs must not stop other jobs. */
const POOL = { name: 'pay', atOnce: 4 }
/** Only for what the database refuses; what a provider does not say is no failed attempt. */
const RETRY = { firstMs: 1_000, maxMs: 60_000, attempts: 1_000 }

export type Rechecks = {
  /**
   * The step that has a transaction rechecked until nothing more is expected to happen to it.
   *
   * @param options.series what the rechecks are named after, if not the transaction: rechecks that are about to end take no
   *   notice of others of the same name
   * @param options.isNow whether the first recheck is at once
   * @param options.runAt when the first recheck is. Default: after 10 seconds
   */
  recheckSql(transactionId: string, options?: { series?: string; isNow?: boolean; runAt?: number }): Step
}

/**
 * Rechecks transactions that are not settled: after 10 seconds, and then at distances that double to an hour, counted from
 * their last change.
 */
export function createRechecks(
  { clock, jobs }: { clock: Clock; jobs: Jobs },
  { retrieve }: { retrieve: (transactionId: string) => Promise<Reconciled> },
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): Rechecks {
  const job = jobs.define(
    // The released kind of the job, and below its released ids.
    'pay.look',
    {
      payload: Type.Object({ transactionId: Type.String() }),
      retry: RETRY,
      pool: POOL,
      neededFor: 'it looks up a payment that is not settled',
    },
    async ({ payload }) => {
      const { transaction } = await retrieve(payload.transactionId)
      if (!transaction || transaction.row.is_settled === 1) return
      const sinceChange = clock.now() - transaction.row.updated_at
      return { againInMs: Math.min(Math.max(firstMs, sinceChange + firstMs), maxMs) }
    },
  )
  return {
    recheckSql: (
      transactionId,
      { series = transactionId, isNow = false, runAt = clock.now() + (isNow ? 0 : firstMs) } = {},
    ) =>
      job.enqueueSql(
        { transactionId },
        {
          id: `pay-look-${series}${isNow ? '-now' : ''}`,
          runAt,
        },
      ),
  }
}
