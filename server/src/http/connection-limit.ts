import { readFileSync } from 'node:fs'

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
  const descriptors = mostDescriptors()
  if (descriptors === undefined) return undefined
  const connections = Math.max(descriptors - RESERVED, Math.floor(descriptors / 2))
  if (descriptors < LOW)
    log.warn(
      `this process may open ${descriptors} files: more than ${connections} connections are refused; raise its limit (ulimit -n, LimitNOFILE)`,
    )
  return connections
}

/** How many files this process may open: the limit that the operating system sets, which does not change while it runs. */
const mostDescriptors = once((): number | undefined => {
  const limit = softLimit()
  return limit === undefined || limit === 'unlimited' ? undefined : Number(limit)
})

function softLimit(): number | string | undefined {
  // A report takes 10 ms, a twentieth of a start.
  if (process.platform === 'linux')
    return /^Max open files +(\w+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return reportedLimit()
}

type UserLimits = { open_files: { soft: number | 'unlimited' } }

/** The limit as Node reports it on every system. */
export function reportedLimit(): number | 'unlimited' | undefined {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Otherwise the process waits while the host name of each open connection is looked up.
  report.excludeNetwork = true
  try {
    return (report.getReport() as { userLimits?: UserLimits }).userLimits?.open_files.soft
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}
