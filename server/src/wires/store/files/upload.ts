import { createHash } from 'node:crypto'

import { invalid } from '../../../base/errors.ts'
import { timeOfId } from '../../../base/ids.ts'
import type { Step } from '../../../db/database.ts'
import type { Upload } from '../../../http/bodies.ts'
import type { Once } from '../../../http/route.ts'
import type { NewObject, Objects } from '../objects/objects.ts'
import { newFileState, type FileRow, type Files } from './files.ts'
import { isExceeded, type FileOwner, type Quota, type Reservation } from '../quota.ts'
import { withoutMetadata } from './metadata/strip-metadata.ts'
import { createSniffer, type Sniffer } from './sniff.ts'

const NAME_MAX = 255
// They would end a header field, or a line of a list, or show exe.png for a name that ends in .exe.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

/** What is sent beside the bytes. */
export type UploadFields = { metadata?: Record<string, unknown>; access?: FileRow['access'] }

/** An upload as its route receives it. */
export type ReceivedUpload = {
  body: Omit<Upload<UploadFields, true>, 'files'>
  /** Whose the file will be. */
  caller: FileOwner
  once: Once
  signal: AbortSignal
  /** Checks the record before it is created, and gives further steps of the batch that creates it. */
  stepsOf?: (row: FileRow) => readonly Step[]
}

/** @param options.stripMetadata whether images are stored without their metadata */
export function createUploads(
  { objects, files, quota }: { objects: Objects; files: Files; quota: Quota },
  { stripMetadata }: { stripMetadata: boolean },
) {
  /**
   * Stores a file: its bytes first, then its record. Whatever fails leaves neither.
   *
   * @param reply makes the answer from the record
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE
   */
  async function upload<T>(
    { body: { file, fields, contentLength, isRepeatable }, caller, once, signal, stepsOf }: ReceivedUpload,
    reply: (row: FileRow) => T,
  ): Promise<T> {
    checkName(file.name)
    const sniffer = createSniffer(file.contentType)
    const reservation = quota.reserve(caller)
    const received = hashed(stripMetadata ? withoutMetadata(file.stream) : file.stream)
    try {
      const reserved = reservation.pass(received.bytes, contentLength)
      const object = await objects.write('uploads', sniffer.pass(reserved), {
        signal,
        maxBytes: contentLength,
      })
      return await keep(object, { file, fields, caller, once, stepsOf, sniffer, reservation }, reply)
    } catch (error) {
      if (!isRepeatable || !isExceeded(error)) throw error
      // The first call may have filled the quota: its answer is found by the bytes, which are not stored again.
      const bytes = await received.finish()
      return await once(fingerprintOf(bytes, file, await fields()), () => {
        throw error
      })
    } finally {
      await reservation.release()
    }
  }

  /** Creates the record of an object that is written, or deletes it. */
  async function keep<T>(
    object: NewObject,
    {
      file,
      fields,
      caller,
      once,
      stepsOf,
      sniffer,
      reservation,
    }: Pick<ReceivedUpload, 'caller' | 'once' | 'stepsOf'> &
      Pick<ReceivedUpload['body'], 'file' | 'fields'> & { sniffer: Sniffer; reservation: Reservation },
    reply: (row: FileRow) => T,
  ): Promise<T> {
    let isClaimed = false
    try {
      const sent = await fields()
      const contentType = await sniffer.contentType()
      const { sha256, size } = object
      return await once(fingerprintOf(object, file, sent), async (id) => {
        const created: FileRow = {
          id,
          owner: caller.id,
          object: object.key,
          original_name: file.name,
          content_type: contentType,
          size,
          sha256,
          metadata: JSON.stringify(sent.metadata ?? {}),
          created_at: timeOfId(id),
          ...newFileState(sent.access),
        }
        const row = await files.create(created, object, caller, reservation, stepsOf?.(created))
        isClaimed = row.object === object.key
        return reply(row)
      })
    } finally {
      if (!isClaimed) await object.discard()
    }
  }

  return upload
}

/** Bytes that are hashed as they pass, for a call that may end before they do. */
function hashed(bytes: AsyncIterable<Buffer>) {
  const source = bytes[Symbol.asyncIterator]()
  const hash = createHash('sha256')
  let size = 0
  const next = async (): Promise<IteratorResult<Buffer>> => {
    const result = await source.next()
    if (result.done) return result
    hash.update(result.value)
    size += result.value.length
    return result
  }
  return {
    bytes: { next },
    async finish() {
      while (!(await next()).done);
      return { sha256: hash.digest('hex'), size }
    },
  }
}

const fingerprintOf = (
  { sha256, size }: { sha256: string; size: number },
  file: { name: string; contentType: string },
  { metadata = {}, access }: UploadFields,
) => [sha256, size, file.name, file.contentType, metadata, ...(access === 'public' ? [access] : [])]

export type Uploads = ReturnType<typeof createUploads>

function checkName(name: string): void {
  const path = '/body/file'
  if (name.length > NAME_MAX)
    throw invalid({ path, message: `has a name of more than ${NAME_MAX} characters` })
  if (CONTROL.test(name)) throw invalid({ path, message: 'has a name with a character that is not allowed' })
}
