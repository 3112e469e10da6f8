import { crc32 } from 'node:zlib'

import type { ByteReader } from './byte-reader.ts'
import { exifOf, EXIF_BYTES, orientationOf } from './orientation.ts'

/** The chunks that show the right colours in the right size, and those of animations. */
const KEPT = new Set(
  'tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT'.split(' '),
)
const isCritical = (type: string): boolean => /^[A-Z]/.test(type)

/** A PNG (https://www.w3.org/TR/png-3/#5Chunk-layout) without its metadata, but with its orientation. */
export async function* pngWithoutMetadata(reader: ByteReader): AsyncGenerator<Buffer> {
  yield await reader.take(8)
  for (;;) {
    const head = await reader.peek(8)
    if (head.length < 8) return
    const length = head.readUInt32BE(0)
    const type = head.toString('latin1', 4)
    if (isCritical(type) || KEPT.has(type)) yield* reader.pass(length + 12)
    else if (type === 'eXIf') {
      await reader.skip(8)
      const exif = await reader.take(Math.min(length, EXIF_BYTES))
      await reader.skip(length - exif.length + 4)
      const orientation = orientationOf(exif)
      if (orientation > 1) yield exifChunk(orientation)
    } else await reader.skip(length + 12)
    if (type !== 'IEND') continue
    await reader.skip(Infinity)
    return
  }
}

function exifChunk(orientation: number): Buffer {
  const content = exifOf(orientation)
  const chunk = Buffer.alloc(content.length + 12)
  chunk.writeUInt32BE(content.length)
  chunk.write('eXIf', 4, 'latin1')
  content.copy(chunk, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), chunk.length - 4)
  return chunk
}
