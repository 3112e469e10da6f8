import type { ByteReader } from './byte-reader.ts'
import { exifOf, orientationOf } from './orientation.ts'

const [TEM, APP0, APP1, APP2, APP14] = [0x01, 0xe0, 0xe1, 0xe2, 0xee]
const [SOS, EOI] = [0xda, 0xd9]
const EXIF = 'Exif\0\0'
const NAME_BYTES = 12

const isRestart = (marker: number): boolean => marker >= 0xd0 && marker <= 0xd7
// Frames and tables: SOF and DHT, DQT to DHP, SOS.
const isImage = (marker: number): boolean =>
  (marker >= 0xc0 && marker <= 0xcf) || (marker >= 0xdb && marker <= 0xdf) || marker === SOS

/** What is needed to show the right colours in the right size. */
const isKept = (marker: number, name: string): boolean =>
  (marker === APP0 && name.startsWith('JFIF\0')) ||
  (marker === APP2 && name.startsWith('ICC_PROFILE\0')) ||
  (marker === APP14 && name.startsWith('Adobe'))

/**
 * A JPEG (ITU-T T.81, annex B) without its metadata: of all segments those of the image, its colours and its orientation. Cut are also
 * bytes between segments, which decoders leave out, and what follows the image, such as second ones of HDR and depth.
 */
export async function* jpegWithoutMetadata(reader: ByteReader): AsyncGenerator<Buffer> {
  let hasOrientation = false
  yield await reader.take(2)
  for (;;) {
    await toMarker(reader)
    const head = await reader.peek(4 + NAME_BYTES)
    const marker = head[1]
    if (marker === undefined) return
    if (marker === EOI) {
      yield await reader.take(2)
      await reader.skip(Infinity)
      return
    }
    if (isRestart(marker) || marker === TEM) {
      yield await reader.take(2)
      continue
    }
    if (head.length < 4) return
    const bytes = 2 + Math.max(2, head.readUInt16BE(2))
    const name = head.toString('latin1', 4)
    if (isImage(marker) || isKept(marker, name)) yield* reader.pass(bytes)
    else if (marker === APP1 && name.startsWith(EXIF) && !hasOrientation) {
      const orientation = orientationOf((await reader.take(bytes)).subarray(4))
      hasOrientation = orientation > 1
      if (hasOrientation) yield exifSegment(orientation)
    } else await reader.skip(bytes)
    if (marker === SOS) yield* scan(reader)
  }
}

/** Leaves out what is before the next marker, and bytes that fill up to it. */
async function toMarker(reader: ByteReader): Promise<void> {
  for (;;) {
    const bytes = await reader.peekMore(2)
    const at = bytes.findIndex((byte, n) => byte === 0xff && !isFill(bytes[n + 1]))
    if (at === 0 || bytes.length === 0) return
    // The last byte may be the first one of a marker.
    await reader.skip(at > 0 ? at : bytes.length > 1 ? bytes.length - 1 : 1)
  }
}

const isFill = (next: number | undefined): boolean => next === undefined || next === 0xff || next === 0

/** The compressed data of a scan, up to the next marker. */
async function* scan(reader: ByteReader): AsyncGenerator<Buffer> {
  for (;;) {
    const bytes = await reader.peekMore(2)
    if (bytes.length < 2) {
      yield await reader.take(bytes.length)
      return
    }
    const end = endOfScan(bytes)
    if (end !== undefined) {
      yield await reader.take(end)
      return
    }
    yield await reader.take(bytes.length - 1)
  }
}

/** Where the marker is that ends the compressed data; undefined if it is not within these bytes. */
function endOfScan(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(0xff); at >= 0 && at + 1 < bytes.length; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]!
    if (next !== 0 && next !== 0xff && !isRestart(next)) return at
  }
  return undefined
}

function exifSegment(orientation: number): Buffer {
  const content = Buffer.concat([Buffer.from(EXIF, 'latin1'), exifOf(orientation)])
  const head = Buffer.from([0xff, APP1, 0, 0])
  head.writeUInt16BE(2 + content.length, 2)
  return Buffer.concat([head, content])
}
