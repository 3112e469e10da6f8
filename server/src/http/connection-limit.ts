import type { Logger } from '../base/logger.ts'
import { once } from '../base/once.ts'

/** For the database, files, and calls to others. */
const RESERVED = 128
const LOW = 1_024

/**
 * How many connections leave descriptors for everything else: without any left no connection is accepted, and none is refused.
 * Undefined where there is no limit.
 */
export function connectionLimit(log: Logger): number | undefined {
  const descriptors = userLimits()?.open_files.soft
  if (typeof descriptors !== 'number') return undefined
  const connections = Math.max(descriptors - RESERVED, Math.floor(descriptors / 2))
  if (descriptors < LOW)
    log.warn(
      `this process may open ${descriptors} files: more than ${connections} connections are refused; raise its limit (ulimit -n, LimitNOFILE)`,
    )
  return connections
}

type UserLimits = { open_files: { soft: number | 'unlimited' } }

/** Reads the limits that the operating system sets for this process, which takes milliseconds. */
export function readUserLimits(): UserLimits | undefined {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Otherwise the process waits while the host name of each open connection is looked up.
  report.excludeNetwork = true
  try {
    return (report.getReport() as { userLimits?: UserLimits }).userLimits
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}

// They do not change while the process runs.
const userLimits = once(readUserLimits)
