import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'

import type tar from 'tar-stream'

const LEVEL = 3
const PIECE_BYTES = 131_072

/** A regular file to be written; `bytes` must be as long as `size` says. */
export type NewEntry = { name: string; size: number; bytes: AsyncIterable<Buffer> }

/**
 * The bytes of a tar that is compressed with zstd, as they are read: an entry is asked for when the one before it is written, so the memory
 * that this takes does not grow with what is in it.
 *
 * @param modifiedAt the time of all entries, in milliseconds since 1970
 * @throws what `entries` or their bytes throw; Error if an entry is not as long as it says
 */
export async function* writeTar(
  entries: AsyncIterable<NewEntry>,
  modifiedAt: number,
): AsyncGenerator<Buffer, void, undefined> {
  const pack = (await import('tar-stream')).default.pack()
  const zstd = createZstdCompress({
    chunkSize: PIECE_BYTES,
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
  })
  const filling = fill(pack, entries, modifiedAt).catch((error: unknown) => pack.destroy(error as Error))
  // What goes wrong before destroys the compression with the same error, which is thrown where it is read.
  const compressing = pipeline(inLargePieces(pack as AsyncIterable<Buffer>), zstd).catch(() => undefined)
  try {
    for await (const piece of zstd) yield piece as Buffer
  } finally {
    pack.destroy()
    zstd.destroy()
    await Promise.all([filling, compressing])
  }
}

async function fill(pack: tar.Pack, entries: AsyncIterable<NewEntry>, modifiedAt: number): Promise<void> {
  for await (const { name, size, bytes } of entries)
    await pipeline(bytes, pack.entry({ name, size, mode: 0o600, mtime: new Date(modifiedAt) }))
  pack.finalize()
}

/** Joins headers, short entries and padding: each piece that is compressed costs a thread of its own. */
async function* inLargePieces(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const piece of bytes) {
    pieces.push(piece)
    size += piece.length
    if (size < PIECE_BYTES) continue
    // A copy of all of it would double the garbage.
    yield pieces.length === 1 ? piece : Buffer.concat(pieces, size)
    pieces = []
    size = 0
  }
  yield Buffer.concat(pieces, size)
}
