import { performance } from 'node:perf_hooks'

const LOOK_MS = 5_000
const IDLE_UTILISATION = 0.01
const WORTH_BYTES = 8 * 1_048_576

/**
 * Gives memory back to the machine when the server has nothing to do. V8 collects when it runs out of room,
 * so after a burst it would keep the garbage for as long as nobody asks for anything.
 * Does nothing where Node runs without `--expose-gc`.
 */
export function collectWhenIdle(): void {
  const collect = globalThis.gc
  if (!collect) return
  let seen = performance.eventLoopUtilization()
  let kept = process.memoryUsage().heapUsed
  setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(seen)
    seen = performance.eventLoopUtilization()
    if (utilization > IDLE_UTILISATION || process.memoryUsage().heapUsed < kept + WORTH_BYTES) return
    collect()
    kept = process.memoryUsage().heapUsed
  }, LOOK_MS).unref()
}
