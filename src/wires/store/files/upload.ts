import { invalid } from '../../../base/errors.ts'
import { timeOfId } from '../../../base/ids.ts'
import type { Caller } from '../../../http/access.ts'
import type { Upload } from '../../../http/bodies.ts'
import type { Once } from '../../../http/route.ts'
import type { Objects } from '../objects/objects.ts'
import type { FileRow, Files } from './files.ts'
import { createSniffer } from './sniff.ts'

const NAME_MAX = 255
// They would end a header field, or a line of a list, or show exe.png for a name that ends in .exe.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/

/** An upload as its route receives it. */
export type ReceivedUpload = {
  body: Upload<{ metadata?: Record<string, unknown> }, true>
  caller: Caller
  once: Once
  signal: AbortSignal
}

export function createUploads(objects: Objects, files: Files) {
  /**
   * Stores a file: its bytes first, then its record. Whatever fails leaves neither.
   *
   * @param reply makes the answer from the record
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE
   */
  return async function upload<T>(
    { body: { file, fields }, caller, once, signal }: ReceivedUpload,
    reply: (row: FileRow) => T,
  ): Promise<T> {
    checkName(file.name)
    const sniffer = createSniffer(file.contentType)
    const object = await objects.write('uploads', sniffer.pass(file.stream), { signal })
    let isClaimed = false
    try {
      const { metadata = {} } = await fields()
      const contentType = await sniffer.contentType()
      const { sha256, size } = object
      const fingerprint = [sha256, size, file.name, file.contentType, metadata]
      return await once(fingerprint, async (id) => {
        const row = await files.create(
          {
            id,
            owner: caller.id,
            object: object.key,
            original_name: file.name,
            content_type: contentType,
            size,
            sha256,
            metadata: JSON.stringify(metadata),
            created_at: timeOfId(id),
          },
          object,
          caller,
        )
        isClaimed = row.object === object.key
        return reply(row)
      })
    } finally {
      if (!isClaimed) await object.discard()
    }
  }
}

export type Uploads = ReturnType<typeof createUploads>

function checkName(name: string): void {
  const path = '/body/file'
  if (name.length > NAME_MAX)
    throw invalid({ path, message: `has a name of more than ${NAME_MAX} characters` })
  if (CONTROL.test(name)) throw invalid({ path, message: 'has a name with a character that is not allowed' })
}
