import { ByteReader } from './byte-reader.ts'
import { jpegWithoutMetadata } from './jpeg.ts'
import { pngWithoutMetadata } from './png.ts'
import { webpWithoutMetadata } from './webp.ts'

/**
 * A file without what an image tells of its place, time, camera and author, if it is a JPEG, PNG or WebP; the pixels, the colour
 * profile and the orientation stay as they are. Files of other types pass unchanged. Nothing is in memory as a whole.
 */
export async function* withoutMetadata(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const reader = new ByteReader(bytes)
  const start = (await reader.peek(12)).toString('latin1')
  if (start.startsWith('\xFF\xD8\xFF')) yield* jpegWithoutMetadata(reader)
  else if (start.startsWith('\x89PNG\r\n\x1A\n')) yield* pngWithoutMetadata(reader)
  else if (/^RIFF[^]{4}WEBP/.test(start)) yield* webpWithoutMetadata(reader)
  else yield* reader.pass(Infinity)
}
