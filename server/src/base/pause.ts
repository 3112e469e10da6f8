import { setImmediate as nextIteration } from 'node:timers/promises'

/** How long work may hold up the event loop. */
const RUN_MS = 10

/** Makes a function to await between the parts of long work: after 10 ms of work it lets other requests run first. */
export function createPause(): () => Promise<void> {
  let ranSince = performance.now()
  return async () => {
    if (performance.now() - ranSince <= RUN_MS) return
    await nextIteration()
    ranSince = performance.now()
  }
}
