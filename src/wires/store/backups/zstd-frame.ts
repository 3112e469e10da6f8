import { damaged } from './damaged.ts'

const MAGIC = 0xfd2fb528
const LARGEST_WINDOW_LOG = 23
const SIZE_BYTES = [0, 2, 4, 8]
const DICTIONARY_BYTES = [0, 1, 2, 4]
const CHECKSUM_BYTES = 4
const BLOCK_HEADER_BYTES = 3
const RLE_BLOCK = 1
const RESERVED_BLOCK = 3

/** The largest window that a reader of archives allows, as the logarithm to base 2: 8 MiB. */
export const WINDOW_LOG_MAX = LARGEST_WINDOW_LOG

/**
 * Passes on the bytes of a zstd stream, which must be exactly one frame with a checksum: the decoder of Node would also
 * take more frames, ignore what follows the last one, and check no sum where the frame says that it has none.
 * It reads the frame's header and the headers of its blocks only (RFC 8878, section 3.1.1).
 *
 * @throws BACKUP_DAMAGED
 */
export async function* singleFrame(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let header = Buffer.alloc(0)
  /** How many bytes go by before the next header is looked at. */
  let skip = 0
  let state: 'frame' | 'block' | 'last' | 'over' = 'frame'

  for await (const piece of bytes) {
    let at = 0
    while (at < piece.length) {
      if (skip > 0) {
        const step = Math.min(skip, piece.length - at)
        skip -= step
        at += step
        if (skip === 0 && state === 'last') state = 'over'
        continue
      }
      if (state === 'over') throw damaged('the archive', 'bytes follow its end')
      const needed = state === 'frame' ? frameHeaderBytes(header) : BLOCK_HEADER_BYTES
      const taken = piece.subarray(at, at + needed - header.length)
      header = Buffer.concat([header, taken])
      at += taken.length
      if (header.length < (state === 'frame' ? frameHeaderBytes(header) : BLOCK_HEADER_BYTES)) continue
      if (state === 'frame') state = 'block'
      else {
        const word = header.readUIntLE(0, BLOCK_HEADER_BYTES)
        const type = (word >> 1) & 3
        if (type === RESERVED_BLOCK) throw damaged('the archive', 'a block has no known type')
        skip = type === RLE_BLOCK ? 1 : word >> 3
        if (word & 1) {
          state = 'last'
          skip += CHECKSUM_BYTES
        }
      }
      header = Buffer.alloc(0)
    }
    yield piece
  }
  if (state !== 'over') throw damaged('the archive', 'it ends too early')
}

/** How long the frame's header is, as far as its first bytes tell. */
function frameHeaderBytes(header: Buffer): number {
  if (header.length < 5) return 5
  if (header.readUInt32LE(0) !== MAGIC) throw damaged('the archive', 'it is not compressed by zstd')
  const descriptor = header[4]!
  const isSingleSegment = (descriptor & 0x20) !== 0
  if ((descriptor & 0x18) !== 0) throw damaged('the archive', 'an unused bit of its header is set')
  if ((descriptor & 0x04) === 0) throw damaged('the archive', 'its frame has no checksum')
  if ((descriptor & 0x03) !== 0) throw damaged('the archive', 'it needs a dictionary')
  const sizeFlag = descriptor >> 6
  const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : SIZE_BYTES[sizeFlag]!
  const length = 5 + (isSingleSegment ? 0 : 1) + DICTIONARY_BYTES[descriptor & 0x03]! + sizeBytes
  if (!isSingleSegment && header.length > 5 && header[5]! >> 3 > LARGEST_WINDOW_LOG - 10)
    throw damaged('the archive', 'it needs too large a window')
  return length
}
