import { executionAsyncResource } from 'node:async_hooks'
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Small buffers are cut from a block, which lives as long as any of them. A few hundred requests share a block of 64 KB,
// Node 26's default, so it is promoted to the old generation: 25 MB of them piled up.
const BUFFER_POOL_BYTES = 8192

// Both halves. V8 lets them grow to 64 MiB, and keeps the buffers of what was read until they are full.
const YOUNG_HEAP_BYTES = 12 * 1_048_576
// From 1 MiB a half to 6 at once.
const YOUNG_HEAP_GROWS = '--semi-space-growth-factor=6'
const YOUNG_HEAP_STAYS = '--semi-space-growth-factor=1'

export function limitBuffers(): void {
  Buffer.poolSize = BUFFER_POOL_BYTES
}

// Set after the start only: Node has its own modules compiled for V8's default flags, and compiles them anew under others.
const FLAGS = ['--external-memory-accounted-in-global-limit', '--heap-growing-percent=50', '--expose-gc']

/**
 * Sets V8's flags for a server that runs long, and frees what loading the program left. From then on the young heap grows
 * to 12 MiB under load, and no further.
 */
export function settleHeap(): void {
  keepTickShape()
  for (const flag of FLAGS) setFlagsFromString(flag)
  const collect = runInNewContext('gc') as (options: object) => void
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  let flag = YOUNG_HEAP_GROWS
  setFlagsFromString(flag)
  // V8 makes it small again when the server is idle.
  const observer = new PerformanceObserver(() => {
    const next = youngHeapBytes() < YOUNG_HEAP_BYTES / 2 ? YOUNG_HEAP_GROWS : YOUNG_HEAP_STAYS
    if (next !== flag) setFlagsFromString((flag = next))
  })
  observer.observe({ entryTypes: ['gc'] })
}

let tick: object | undefined

/**
 * Keeps one of the objects that Node makes for each `process.nextTick`, six for a request. Their literal has computed keys: once a
 * collection has found none alive, V8 has forgotten their shape, and makes each by its runtime for as long as the process
 * lives, in 400 ns instead of 60.
 */
function keepTickShape(): void {
  // Until it runs, the queue keeps it.
  process.nextTick(() => {
    tick ??= executionAsyncResource()
  })
}

const youngHeapBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size
