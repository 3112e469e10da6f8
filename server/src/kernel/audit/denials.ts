import type { Logger } from '../../base/logger.ts'
import type { Database } from '../../db/database.ts'
import type { Actor } from '../../http/actor.ts'
import type { RateLimiter } from '../../http/limits.ts'
import type { Audit } from './audit.ts'

const MINUTE_MS = 60_000
/** So many a minute are written, in each process: nobody can fill the table. */
const ALL_MAX = 60
const ACTOR_MAX = 5

/** A call of an operator's route that its caller may not make. */
export type DeniedCall = { actor: Actor; path: string }

/**
 * Writes down who tried what only operators may do, up to a limit.
 *
 * @param limiter counts in this process, so that what is not written costs nothing
 */
export async function recordDenial(
  { db, audit, limiter, log }: { db: Database; audit: Audit; limiter: RateLimiter; log: Logger },
  { actor, path }: DeniedCall,
): Promise<void> {
  const isOver = async (bucket: string, count: number): Promise<boolean> =>
    (await limiter.take(`audit ${bucket}`, count, MINUTE_MS)) !== undefined
  if ((await isOver(`${actor.kind} ${actor.id}`, ACTOR_MAX)) || (await isOver('all', ALL_MAX))) return
  try {
    await db.write(audit.entrySql(actor, { action: 'access.denied', outcome: 'denied', after: { path } }))
  } catch (error) {
    // It is refused in any case.
    log.warn({ err: error }, 'a call that was denied could not be written to the audit log')
  }
}
