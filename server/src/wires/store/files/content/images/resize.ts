import { FairSemaphore } from '../../../../../base/fair-semaphore.ts'
import type { WireContext } from '../../../../../kernel/wire/wire.ts'
import { createDecoder, type Decoding } from './decoder.ts'

/** Who asks for an image, and whether they still wait for it. */
export type ImageCaller = { name: string; signal?: AbortSignal }

const WAIT_MS = 30_000

/**
 * Decodes images, one at a time: each may take some hundred megabytes, and the processor is the same for all. Callers take turns,
 * so that those who ask for hundreds keep nobody out.
 */
export function createResizer({ log }: Pick<WireContext, 'log'>) {
  const places = new FairSemaphore({
    total: 1,
    ofCaller: () => 1,
    waiting: { total: 1000, ofCaller: 100 },
    waitMs: WAIT_MS,
  })
  const decoding = createDecoder({ log })

  return {
    /**
     * Runs a task that may decode images, as the only one.
     *
     * @throws TOO_MANY_CONCURRENT if the caller waits for too many; UNAVAILABLE if all together do, or it waited too long
     */
    async run<T>({ name, signal }: ImageCaller, task: (decoding: Decoding) => Promise<T>): Promise<T> {
      await places.take(name, 1, signal)
      try {
        return await task(decoding)
      } finally {
        places.give(name, 1)
      }
    },
  }
}

export type Resizer = ReturnType<typeof createResizer>
