import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

// More would leave them next to nothing on a machine that is busy with something else.
const BEHIND = 10
const LAST = 19
const TASKS = '/proc/self/task'

/**
 * Lets the event loop go before the threads that hash passwords: where there are as many hashes as processors, a call
 * that costs nothing would wait for their turns to end. Linux counts a thread as a process here (sched(7)); elsewhere,
 * and where the system forbids it, this does nothing.
 */
export function putPoolBehind(): void {
  if (process.platform !== 'linux') return
  try {
    // Relative to the process's own: not everybody may go before where they are.
    const niceness = Math.min(getPriority() + BEHIND, LAST)
    // All threads of Node's pool begin with the first work that it is given, and that was long before.
    for (const thread of readdirSync(TASKS))
      if (readFileSync(`${TASKS}/${thread}/comm`, 'utf8').startsWith('libuv-worker'))
        setPriority(Number(thread), niceness)
  } catch {
    // Without /proc, or under a filter of system calls, the server is as right, and answers later at worst.
  }
}
