import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

// 19 would leave them next to nothing on a machine that is busy with something else.
const BEHIND = 10
const TASKS = '/proc/self/task'

/**
 * Lets the event loop go before the threads that hash passwords: where there are as many hashes as processors, a call
 * that costs nothing would wait for their turns to end. Linux counts a thread as a process here (sched(7)); elsewhere
 * this does nothing.
 */
export function putPoolBehind(): void {
  if (process.platform !== 'linux') return
  // All threads of Node's pool begin with the first work that it is given, and that was long before.
  for (const thread of readdirSync(TASKS))
    if (readFileSync(`${TASKS}/${thread}/comm`, 'utf8').startsWith('libuv-worker'))
      setPriority(Number(thread), BEHIND)
}
