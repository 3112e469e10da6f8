import { performance } from 'node:perf_hooks'

const LOOK_MS = 5_000
const IDLE_UTILISATION = 0.01
const WORTH_BYTES = 8 * 1_048_576

// Small buffers are cut from blocks. One of 64 KB, as Node 26 takes them, outlives the young heap together with the
// few hundred requests that share it, and is garbage until all of the heap is collected.
const BLOCK_BYTES = 8192

/**
 * Keeps the server small: buffers in blocks that die young, and a collection when there is nothing to do.
 */
export function keepMemorySmall(): void {
  Buffer.poolSize = BLOCK_BYTES
  collectWhenIdle()
}

/**
 * Gives memory back to the machine when the server has nothing to do. V8 collects when it runs out of room,
 * so after a burst it would keep the garbage for as long as nobody asks for anything.
 * Does nothing where Node runs without `--expose-gc`.
 */
function collectWhenIdle(): void {
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
