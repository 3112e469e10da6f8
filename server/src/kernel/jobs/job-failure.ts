import { inspect } from 'node:util'

import type { Logger } from '../../base/logger.ts'
import type { Clock } from '../../base/clock.ts'
import type { Sql } from '../../db/sql.ts'
import { failSql, retrySql, type ClaimedJob } from './job-rows.ts'

const REASON_CHARACTERS = 1_000

/** The pauses after failed attempts double from `firstMs` to `maxMs`, with jitter; after so many attempts the job fails for good. */
export type Retry = { firstMs: number; maxMs: number; attempts: number }

/**
 * Logs a failed attempt, and answers what is to be written of it.
 *
 * @param retry how it is tried again; undefined: it has failed for good
 */
export function failureSql(
  { clock, log }: { clock: Clock; log: Logger },
  job: ClaimedJob,
  { error, retry }: { error: unknown; retry?: Retry },
): Sql {
  const { id, kind, attempts } = job
  const about = { err: error, job: id, kind, attempts }
  if (retry === undefined) {
    log.error(about, 'a job failed for good')
    return failSql(job, reasonOf(error), clock.now())
  }
  log.warn(about, 'a job failed')
  return retrySql(job, clock.now() + pauseAfter(attempts, retry), reasonOf(error))
}

/** Exponential, with jitter, so that what failed together is not retried together. */
const pauseAfter = (attempt: number, { firstMs, maxMs }: Retry): number =>
  Math.round(Math.min(maxMs, firstMs * 2 ** (attempt - 1)) * (0.5 + Math.random()))

/** Anything that was thrown, as text that a database takes. */
function reasonOf(thrown: unknown): string {
  const reason: unknown = thrown instanceof Error ? thrown.message || thrown.name : thrown
  const text = typeof reason === 'string' ? reason : inspect(reason)
  return text.slice(0, REASON_CHARACTERS).toWellFormed().replaceAll('\0', '\ufffd')
}
