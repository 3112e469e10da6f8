import type { Logger } from '../base/logger.ts'

/** For the database, files, and calls to others. */
const RESERVED = 128
const LOW = 1_024

/**
 * How many connections leave descriptors for everything else: without any left no connection is accepted, and none is refused.
 * Undefined where there is no limit.
 */
export function connectionLimit(log: Logger): number | undefined {
  const report = process.report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } }
  }
  const descriptors = report.userLimits?.open_files.soft
  if (typeof descriptors !== 'number') return undefined
  const connections = Math.max(descriptors - RESERVED, Math.floor(descriptors / 2))
  if (descriptors < LOW)
    log.warn(
      `this process may open ${descriptors} files: more than ${connections} connections are refused; raise its limit (ulimit -n, LimitNOFILE)`,
    )
  return connections
}
