import { performance } from 'node:perf_hooks'

const LOOK_MS = 5_000
const IDLE_UTILISATION = 0.01
const WORTH_BYTES = 8 * 1_048_576

// Small buffers are cut from blocks. A block of 64 KB, Node 26's default, is promoted to the old generation by the few
// hundred requests that share it, and is freed only by a full collection.
const BLOCK_BYTES = 8192

/**
 * Keeps the server's memory small: by small blocks for buffers, and a garbage collection when the server is idle.
 */
export function keepMemorySmall(): void {
  Buffer.poolSize = BLOCK_BYTES
  collectWhenIdle()
}

/**
 * Collects garbage when the server is idle. V8 collects only when it runs out of space, so after a burst it would keep
 * the garbage until the next one. Does nothing without `--expose-gc`.
 */
function collectWhenIdle(): void {
  const collect = globalThis.gc
  if (!collect) return
  let before = performance.eventLoopUtilization()
  let leastUsed = process.memoryUsage().heapUsed
  setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    if (utilization > IDLE_UTILISATION || process.memoryUsage().heapUsed < leastUsed + WORTH_BYTES) return
    collect()
    leastUsed = process.memoryUsage().heapUsed
  }, LOOK_MS).unref()
}
