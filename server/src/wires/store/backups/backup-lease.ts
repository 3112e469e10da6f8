import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** A running backup or restore whose process has died fails this long after its last sign. */
export const LEASE_MS = 15_000

const RENEW_MS = LEASE_MS / 3

/** Extends the lease of a running backup or restore; no row if it was over: other processes may have ended it. */
export const renewSql = (
  table: 'store_backups' | 'store_restores',
  id: string,
  now: number,
): Sql<{ id: string }> => sql`
  update ${sql.literal(table)} set lease_until = ${now + LEASE_MS}
  where id = ${id} and status = 'running' and lease_until > ${now}
  returning id`

/** Ends the leases of the backups or restores that an ended process was making. */
export const releaseSql = (table: 'store_backups' | 'store_restores', ended: string): Sql => sql`
  update ${sql.literal(table)} set lease_until = 0 where status = 'running' and process = ${ended}`

export type Lease = {
  /** Aborts when the lease was over before it was renewed: the work must stop. */
  lapsed: AbortSignal
  /** Ends the renewals. */
  release(): Promise<void>
}

/**
 * Renews a lease until it is released. A renewal that fails is logged, for the next one may still come in time.
 *
 * @param work what the log says it is for
 * @param renew resolves to false if the lease was over
 */
export function holdLease(
  { clock, log }: Pick<WireContext, 'clock' | 'log'>,
  work: object,
  renew: () => Promise<boolean>,
): Lease {
  const [lapsed, released] = [new AbortController(), new AbortController()]
  const renewals = (async () => {
    for (;;) {
      await clock.sleep(RENEW_MS, { signal: released.signal, idle: true })
      if (released.signal.aborted) return
      try {
        if (!(await renew())) lapsed.abort()
      } catch (error) {
        log.warn({ err: error, ...work }, 'a lease could not be renewed')
      }
    }
  })()
  return {
    lapsed: lapsed.signal,
    async release() {
      released.abort()
      await renewals
    },
  }
}
