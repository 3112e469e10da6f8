import { setImmediate as nextIteration } from 'node:timers/promises'

/** How long work may hold the process up before others go on. */
const RUN_MS = 10

/** Makes what long work waits for between its parts: once it has run for 10 ms, others go on first. */
export function createPause(): () => Promise<void> {
  let ranSince = performance.now()
  return async () => {
    if (performance.now() - ranSince <= RUN_MS) return
    await nextIteration()
    ranSince = performance.now()
  }
}
