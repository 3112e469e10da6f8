import { Readable } from 'node:stream'

import type { Clock } from '../../../../base/clock.ts'
import { ApiError } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { storeErrors } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import { heldRoom } from '../../quota.ts'
import type { Uploads } from '../uploads/upload.ts'
import type { ResumableUpload, ResumableUploads } from './resumable-uploads.ts'
import { declaredFileOf } from './tus.ts'

/** How long a request waits while another one makes the file, and how often it looks. */
const WAIT_MS = 20_000
const POLL_MS = 100
const RETRY_SECONDS = 2

type Context = { clock: Clock; objects: Objects; uploads: ResumableUploads; upload: Uploads }

/**
 * Makes the file of an upload whose bytes have all arrived; of one that is a file or is not complete, nothing. The bytes take the
 * way of any other file: type, hash, quota, record. If its client or this server ends meanwhile, the next request does it.
 *
 * @returns the upload as it is then
 * @throws UPLOAD_BUSY if another request does it for long
 */
export async function joinPieces(context: Context, upload: ResumableUpload): Promise<ResumableUpload> {
  const { clock, uploads } = context
  if (upload.received < upload.size) return upload
  let current = upload
  for (const end = clock.elapsed() + WAIT_MS; current.file_id === null; await clock.sleep(POLL_MS)) {
    if (await uploads.join(upload.id)) return join(context, current)
    current = await uploads.get(upload.id, upload.owner)
    if (clock.elapsed() >= end) break
  }
  if (current.file_id === null) throw storeErrors.upload_busy({ retryAfter: RETRY_SECONDS })
  return current
}

async function join(context: Context, { id, ...row }: ResumableUpload): Promise<ResumableUpload> {
  const { uploads, upload } = context
  const { name, contentType, ...fields } = declaredFileOf(row.metadata)
  const stream = Readable.from(bytesOf(context, id, row.size), { objectMode: false })
  stream.on('error', () => undefined)
  try {
    return await upload(
      {
        body: {
          file: { field: 'file', name, contentType, stream },
          fields: async () => fields,
          contentLength: row.size,
          isRepeatable: false,
        },
        caller: { kind: row.owner_kind, id: row.owner },
        once: async (_fingerprint, perform) => perform(newId(), false),
        // Its client may go: what has arrived becomes a file.
        signal: new AbortController().signal,
        reservation: heldRoom(id),
        stepsOf: (file) => uploads.finishSql(id, file.id),
      },
      (file) => ({ id, ...row, file_id: file.id }),
    )
  } catch (error) {
    // Another request was faster, if this one was slower than its time.
    const now = await uploads.get(id, row.owner)
    if (error instanceof ApiError && now.file_id !== null) return now
    await uploads.leave(id)
    throw error
  } finally {
    stream.destroy()
  }
}

/** All bytes of an upload; its time to join is extended with each piece. @throws Error if they are not so many */
async function* bytesOf({ objects, uploads }: Context, id: string, size: number): AsyncGenerator<Buffer> {
  let left = size
  for (const { object } of await uploads.pieces(id)) {
    await uploads.stay(id)
    for await (const chunk of (await objects.read('uploads', object)) as AsyncIterable<Buffer>) {
      left -= chunk.length
      yield chunk
    }
  }
  if (left !== 0) throw new Error(`the pieces of the upload ${id} have ${size - left} bytes, not ${size}`)
}
