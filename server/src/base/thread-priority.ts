import { getPriority, setPriority } from 'node:os'

// Niceness (sched(7)).
const BEHIND = 5
const LAST = 19

/**
 * Lowers the priority of the thread that calls this, so that the event loop comes first; only on Linux, since elsewhere it would
 * be that of the process.
 */
export function lowerPriority(niceness = BEHIND): void {
  if (process.platform !== 'linux') return
  try {
    // Relative to the process's own priority, which not every user may raise.
    setPriority(Math.min(getPriority() + niceness, LAST))
  } catch {
    // Under a system call filter others only wait longer at worst.
  }
}
