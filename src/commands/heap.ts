import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// Small buffers are cut from a block, which lives as long as any of them. A few hundred requests share a block of 64 KB,
// Node 26's default, so it is promoted to the old generation: 25 MB of them piled up.
const BUFFER_POOL_BYTES = 8192

// Else V8 collects the whole heap for every 32 MB that are read from a socket or a file, which are outside of it.
const BUFFERS_BESIDE_HEAP = '--external-memory-accounted-in-global-limit'

// By default V8 lets the heap grow to four times of what was alive after a collection.
const HEAP_GROWTH = '--heap-growing-percent=100'

// Both halves. V8 lets them grow to 64 MiB, and keeps the buffers of what was read until they are full.
const YOUNG_HEAP_BYTES = 16 * 1_048_576
// From 1 MiB a half to 8 at once.
const YOUNG_HEAP_GROWS = '--semi-space-growth-factor=8'
const YOUNG_HEAP_STAYS = '--semi-space-growth-factor=1'

/** Sets what has to be set before requests come (docs/decisions/013-memory.md). */
export function limitHeap(): void {
  Buffer.poolSize = BUFFER_POOL_BYTES
  for (const flag of [BUFFERS_BESIDE_HEAP, HEAP_GROWTH, YOUNG_HEAP_STAYS]) setFlagsFromString(flag)
}

/**
 * Collects what loading the program left, and so makes the young heap small again. Under load it grows once, to 16 MiB:
 * by how much loading it grew differs from start to start.
 */
export function collectAfterStart(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString(YOUNG_HEAP_GROWS)
  const observer = new PerformanceObserver(() => {
    if (youngHeapBytes() < YOUNG_HEAP_BYTES / 2) return
    setFlagsFromString(YOUNG_HEAP_STAYS)
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}

const youngHeapBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.space_size
