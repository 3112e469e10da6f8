import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

// A lower priority would starve them on a machine that is busy with other programs.
const BEHIND = 10
const LAST = 19
const TASKS = '/proc/self/task'

/**
 * Gives the event loop a higher priority than the threads that hash passwords: with as many hashes as processors, a
 * cheap call would wait for their time slices. Linux schedules threads like processes here (sched(7)); elsewhere, or if
 * the system forbids it, this does nothing.
 */
export function putPoolBehind(): void {
  if (process.platform !== 'linux') return
  try {
    // Relative to the process's own priority, which not every user may raise.
    const niceness = Math.min(getPriority() + BEHIND, LAST)
    // All threads of Node's pool start with its first task, which has long run.
    for (const thread of readdirSync(TASKS))
      if (readFileSync(`${TASKS}/${thread}/comm`, 'utf8').startsWith('libuv-worker'))
        setPriority(Number(thread), niceness)
  } catch {
    // Without /proc, or under a system call filter, the server only answers later at worst.
  }
}
