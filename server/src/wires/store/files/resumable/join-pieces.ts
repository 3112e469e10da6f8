import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import type { Clock } from '../../../../base/clock.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { storeErrors } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import { heldRoom } from '../../quota.ts'
import type { Uploads } from '../uploads/upload.ts'
import { completeInBucket } from './direct-upload.ts'
import { JOIN_MS, type Piece, type ResumableUpload, type ResumableUploads } from './resumable-uploads.ts'
import { declaredFileOf } from './tus.ts'

/** How long a request waits while another one makes the file, and how often it looks. */
const WAIT_MS = 20_000
const POLL_MS = 100
const RETRY_SECONDS = 2
/** After these errors an upload cannot become a file: it is deleted. */
const FATAL_CODES = new Set<string>([storeErrors.checksum_mismatch.code, errors.not_found.code])

type Context = { clock: Clock; objects: Objects; uploads: ResumableUploads; upload: Uploads }

/**
 * Makes the file of an upload whose bytes have all arrived; of one that is a file or is not complete, nothing. The bytes take the
 * way of any other file: type, hash, quota, record. If its client or this server ends meanwhile, the next request does it.
 *
 * @returns the upload as it is then
 * @throws UPLOAD_BUSY if another request does it for long; CHECKSUM_MISMATCH, which ends the upload
 */
export async function joinPieces(context: Context, upload: ResumableUpload): Promise<ResumableUpload> {
  const { clock, uploads } = context
  if (upload.received < upload.size) return upload
  let current = upload
  for (const end = clock.elapsed() + WAIT_MS; current.file_id === null; await clock.sleep(POLL_MS)) {
    const joined = await uploads.join(upload.id)
    if (joined) return join(context, joined)
    current = await uploads.get(upload.id, upload.owner)
    if (clock.elapsed() >= end) break
  }
  if (current.file_id === null) throw storeErrors.upload_busy({ retryAfter: RETRY_SECONDS })
  return current
}

async function join(context: Context, joined: ResumableUpload): Promise<ResumableUpload> {
  const { uploads } = context
  const { id, owner } = joined
  try {
    return await makeFile(context, await completeInBucket(context, joined))
  } catch (error) {
    if (!(error instanceof ApiError)) {
      await uploads.leave(id)
      throw error
    }
    // Another request was faster, if this one was slower than its time.
    const now = await uploads.get(id, owner)
    if (now.file_id !== null) return now
    if (FATAL_CODES.has(error.code)) await uploads.remove(id, owner)
    else await uploads.leave(id)
    throw error
  }
}

async function makeFile(context: Context, joined: ResumableUpload): Promise<ResumableUpload> {
  const { uploads, upload } = context
  const { id, owner, owner_kind, size } = joined
  const { name, contentType, sha256, ...fields } = declaredFileOf(joined.metadata)
  const pieces = await uploads.pieces(id)
  const stream = Readable.from(bytesOf(context, pieces, { ...joined, sha256 }), { objectMode: false })
  stream.on('error', () => undefined)
  try {
    return await upload(
      {
        body: {
          file: { field: 'file', name, contentType, stream },
          fields: async () => fields,
          contentLength: size,
          isRepeatable: false,
        },
        adoptable: pieces.length === 1 ? uploads.adoptPiece(id, pieces[0]!) : undefined,
        caller: { kind: owner_kind, id: owner },
        once: async (_fingerprint, perform) => perform(newId(), false),
        // Its client may go: what has arrived becomes a file.
        signal: new AbortController().signal,
        reservation: heldRoom(id),
        stepsOf: (file) => uploads.finishSql(id, file.id),
      },
      (file) => ({ ...joined, file_id: file.id }),
    )
  } finally {
    stream.destroy()
  }
}

/**
 * All bytes of an upload; its time to join is extended while they are read.
 *
 * @throws CHECKSUM_MISMATCH after the last; Error if they are not so many
 */
async function* bytesOf(
  { clock, objects, uploads }: Context,
  pieces: readonly Piece[],
  { id, size, sha256 }: ResumableUpload & { sha256: string | undefined },
): AsyncGenerator<Buffer> {
  const hash = sha256 === undefined ? undefined : createHash('sha256')
  let left = size
  let stayedAt = clock.now()
  for (const { object } of pieces)
    for await (const chunk of (await objects.read('uploads', object)) as AsyncIterable<Buffer>) {
      if (clock.now() - stayedAt > JOIN_MS / 4) {
        stayedAt = clock.now()
        await uploads.stay(id)
      }
      left -= chunk.length
      hash?.update(chunk)
      yield chunk
    }
  if (left !== 0) throw new Error(`the pieces of the upload ${id} have ${size - left} bytes, not ${size}`)
  if (hash && hash.digest('hex') !== sha256)
    throw storeErrors.checksum_mismatch({
      message: 'The file does not have the sha256 of its metadata: upload it again.',
    })
}
