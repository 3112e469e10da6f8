import { createHash } from 'node:crypto'

import type { Clock } from '../../../../base/clock.ts'
import type { StreamedBody } from '../../../../http/bodies.ts'
import { storeErrors } from '../../errors.ts'
import type { NewObject, Objects } from '../../objects/objects.ts'
import { PieceReader, tooLong } from './piece-reader.ts'
import type { ResumableUpload, ResumableUploads } from './resumable-uploads.ts'
import type { Checksum } from './tus.ts'

/** How often the time is extended of what arrives and does not count yet: it has an hour. */
const EXTEND_MS = 900_000

/**
 * Appends a body to an upload, piece by piece: each counts once its bytes are safe, also if the next ones do not arrive. With a
 * checksum all count together, once it is found right.
 *
 * @throws PAYLOAD_TOO_LARGE, CONFLICT, CHECKSUM_MISMATCH, UNAVAILABLE; what has ended the body, after what came before is stored
 */
export async function appendPieces(
  context: { clock: Clock; objects: Objects; uploads: ResumableUploads },
  upload: ResumableUpload,
  body: StreamedBody,
  checksum?: Checksum,
): Promise<ResumableUpload> {
  const left = upload.size - upload.received
  if ((body.contentLength ?? 0) > left) throw tooLong()
  const reader = new PieceReader(context, body.stream, left)
  return checksum
    ? appendChecked(context, upload, reader, checksum)
    : appendAsTheyCome(context, upload, reader)
}

async function appendAsTheyCome(
  { objects, uploads }: { objects: Objects; uploads: ResumableUploads },
  upload: ResumableUpload,
  reader: PieceReader,
): Promise<ResumableUpload> {
  let current = upload
  while (await reader.hasMore()) {
    const object = await objects.write('uploads', reader.piece())
    current = await discardUnless([object], () => uploads.append(current, current.received, [object]))
  }
  if (reader.fault) throw reader.fault
  return current
}

async function appendChecked(
  { clock, objects, uploads }: { clock: Clock; objects: Objects; uploads: ResumableUploads },
  upload: ResumableUpload,
  reader: PieceReader,
  { algorithm, digest }: Checksum,
): Promise<ResumableUpload> {
  const hash = createHash(algorithm)
  let extendedAt = clock.now()
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of reader.piece()) {
      hash.update(chunk)
      yield chunk
    }
  }
  const written: NewObject[] = []
  return discardUnless(written, async () => {
    while (await reader.hasMore()) {
      if (clock.now() - extendedAt > EXTEND_MS) {
        extendedAt = clock.now()
        await uploads.extend(upload, written)
      }
      written.push(await objects.write('uploads', hashed()))
    }
    if (reader.fault) throw reader.fault
    if (!hash.digest().equals(digest)) throw storeErrors.checksum_mismatch()
    return written.length === 0 ? upload : uploads.append(upload, upload.received, written)
  })
}

/** Deletes objects if the work fails. */
async function discardUnless<T>(written: readonly NewObject[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    for (const object of written) await object.discard()
    throw error
  }
}
