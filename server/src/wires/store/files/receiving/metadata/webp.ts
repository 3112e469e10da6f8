import { zeros, type ByteReader } from './byte-reader.ts'
import { exifOf, EXIF_BYTES, orientationOf } from './orientation.ts'

const KEPT = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF', 'ICCP'])

/**
 * A WebP (RFC 9649) whose metadata are zeros, but for the orientation. They keep their length, since that of all is at the beginning,
 * which is stored before the end is known.
 */
export async function* webpWithoutMetadata(reader: ByteReader): AsyncGenerator<Buffer> {
  const riff = await reader.take(12)
  yield riff
  let left = riff.readUInt32LE(4) - 4
  for (; left > 0;) {
    const head = await reader.peek(8)
    if (head.length < 8) break
    const type = head.toString('latin1', 0, 4)
    const length = head.readUInt32LE(4)
    const padded = length + (length % 2)
    left -= padded + 8
    if (KEPT.has(type)) yield* reader.pass(padded + 8)
    else {
      yield await reader.take(8)
      const start = type === 'EXIF' ? await reader.take(Math.min(length, EXIF_BYTES)) : undefined
      const kept = start ? exifOf(orientationOf(start)).subarray(0, start.length) : undefined
      if (kept) yield kept
      const skipped = await reader.skip(padded - (start?.length ?? 0))
      yield* zeros((start?.length ?? 0) - (kept?.length ?? 0) + skipped)
    }
  }
  await reader.skip(Infinity)
}
