// Together with the write that is under way, what an upload holds in memory. Short chunks each hold the whole buffer that
// they were read into, so their number is limited as well.
const GATHERED_BYTES = 512 * 1024
export const GATHERED_CHUNKS = 64

/**
 * Chunks in lists that are worth a write: half a MiB, or 64 of them.
 *
 * @param signal ends the waiting for the next chunk
 * @throws the error of `bytes` as it is; the reason of the signal
 */
export async function* gathered(
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer[]> {
  const iterator = bytes[Symbol.asyncIterator]()
  let interrupt: ((reason: unknown) => void) | undefined
  const abort = (): void => interrupt?.(signal!.reason)
  signal?.addEventListener('abort', abort)
  const next = (): Promise<IteratorResult<Buffer>> =>
    new Promise((resolve, reject) => {
      interrupt = reject
      if (signal?.aborted) reject(signal.reason as Error)
      else iterator.next().then(resolve, reject)
    })
  let isOver = false
  try {
    let chunks: Buffer[] = []
    let size = 0
    for (let result = await next(); !result.done; result = await next()) {
      chunks.push(result.value)
      size += result.value.length
      if (size < GATHERED_BYTES && chunks.length < GATHERED_CHUNKS) continue
      yield chunks
      chunks = []
      size = 0
    }
    isOver = true
    if (chunks.length > 0) yield chunks
  } finally {
    signal?.removeEventListener('abort', abort)
    // Not awaited: a generator answers only after the chunk that it waits for.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined)
  }
}
