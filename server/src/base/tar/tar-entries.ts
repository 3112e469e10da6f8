import type tar from 'tar-stream'

import type { TarEntry } from './tar-entry.ts'
import { TarFault } from './tar-fault.ts'

const BLOCK_BYTES = 512
/** The end of a tar: two blocks of zeros. */
const END_BYTES = 2 * BLOCK_BYTES
/** Some programs fill up the record of a tar: 20 blocks. */
const FILLED_BYTES_MAX = 20 * BLOCK_BYTES
/** How far the decoder may be ahead of the entries. */
const AHEAD_BYTES_MAX = 2 * 1_048_576

/** Where the reading of a tar is. */
export type TarPosition = {
  /** Bytes of the tar that were decompressed, and how many zeros they end with. */
  passed: number
  zeros: number
  /** Where the last entry ends with its padding. */
  end: number
}

/** Passes on the bytes of a tar, as long as entries are found in them. @throws TarFault */
export async function* watchTar(bytes: AsyncIterable<Buffer>, position: TarPosition): AsyncGenerator<Buffer> {
  for await (const piece of bytes) {
    let end = piece.length
    while (end > 0 && piece[end - 1] === 0) end--
    position.zeros = piece.length - end + (end === 0 ? position.zeros : 0)
    position.passed += piece.length
    if (position.passed > position.end + AHEAD_BYTES_MAX)
      throw new TarFault('the archive', 'bytes follow its end')
    yield piece
  }
}

/**
 * The entries of a tar, which must be regular files that follow one another and nothing else: tar-stream would also take
 * longer names from extended headers, links, and entries behind the end. Padding is not checked: nothing is read from it.
 *
 * @throws TarFault; the errors of `extract` as they are
 */
export async function* tarEntries(extract: tar.Extract, position: TarPosition): AsyncGenerator<TarEntry> {
  let contentEnd = 0
  for await (const entry of extract) {
    const { name, type, linkname, size } = entry.header
    const place = JSON.stringify(name)
    if (type !== 'file' || linkname) throw new TarFault(place, 'it is not a regular file')
    if (entry.offset !== position.end) throw new TarFault(place, 'something that is no file is before it')
    if (!Number.isSafeInteger(size)) throw new TarFault(place, 'its header has no valid size')
    contentEnd = entry.offset + BLOCK_BYTES + size
    position.end = Math.ceil(contentEnd / BLOCK_BYTES) * BLOCK_BYTES
    const content = { read: 0 }
    yield { name, size, pieces: counted(entry as AsyncIterable<Buffer>, content) }
    if (content.read < size) throw new TypeError(`the entry ${place} was not read to its end`)
  }
  const endBytes = position.passed - position.end
  if (endBytes < END_BYTES) throw new TarFault('the archive', 'it ends too early')
  if (position.passed - position.zeros > contentEnd || endBytes > FILLED_BYTES_MAX)
    throw new TarFault('the archive', 'bytes follow its end')
}

async function* counted(bytes: AsyncIterable<Buffer>, content: { read: number }): AsyncGenerator<Buffer> {
  for await (const piece of bytes) {
    content.read += piece.length
    yield piece
  }
}
