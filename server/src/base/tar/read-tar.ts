import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdDecompress } from 'node:zlib'

import { tarEntries, watchTar, type TarPosition } from './tar-entries.ts'
import type { TarEntry } from './tar-entry.ts'
import { TarFault } from './tar-fault.ts'

const PIECE_BYTES = 131_072
/** The largest window, as the logarithm to base 2: 8 MiB. */
const WINDOW_LOG_MAX = 23

export type ReadTarOptions = {
  /** @param bytesRead of the tar as it is stored */
  onProgress?: (bytesRead: number) => void
  signal?: AbortSignal
}

/**
 * Reads a tar that is compressed with zstd to its end, and checks that nothing follows it. Memory does not grow with it, whatever
 * is in it; nothing of what was read may be used before this resolves.
 *
 * @param read reads all entries, and answers what this resolves to
 * @throws TarFault; the error of `bytes`, of `read` or of the signal as it is
 */
export async function readTar<T>(
  bytes: AsyncIterable<Buffer>,
  read: (entries: AsyncGenerator<TarEntry>) => Promise<T>,
  { onProgress, signal }: ReadTarOptions = {},
): Promise<T> {
  const zstd = createZstdDecompress({
    chunkSize: PIECE_BYTES,
    params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
  })
  const extract = (await import('tar-stream')).default.extract()
  const position: TarPosition = { passed: 0, zeros: 0, end: 0 }
  let passed = 0
  let sourceError: unknown
  /** Else the streams throw their own errors into the generator. */
  let isReading = true
  async function* counted(): AsyncGenerator<Buffer> {
    try {
      for await (const piece of bytes) {
        signal?.throwIfAborted()
        passed += piece.length
        isReading = false
        yield piece
        isReading = true
        onProgress?.(passed)
      }
    } catch (error) {
      if (isReading) sourceError = error
      throw error
    }
  }
  let streamError: unknown
  const source = Readable.from(counted(), { objectMode: false })
  const extracting = pipeline(source, zstd, (tar) => watchTar(tar, position), extract).catch(
    (error: unknown) => void (streamError = error),
  )
  try {
    const result = await read(tarEntries(extract, position))
    await extracting
    // The decoder ignores what follows the last frame.
    if (zstd.bytesWritten < passed) throw new TarFault('the archive', 'bytes follow its end')
    return result
  } catch (thrown) {
    source.destroy()
    extract.destroy()
    await extracting
    // An entry that is read after the streams have failed tells only that it was destroyed.
    const isDestroyed = (thrown as NodeJS.ErrnoException).code === 'STREAM_DESTROYED'
    const error = isDestroyed ? (streamError ?? thrown) : thrown
    if (error !== streamError || error === sourceError || error instanceof TarFault) throw error
    const { code } = error as NodeJS.ErrnoException
    const fault = code === undefined ? 'it is not a whole tar' : `it cannot be decompressed (${code})`
    throw new TarFault('the archive', fault)
  }
}
