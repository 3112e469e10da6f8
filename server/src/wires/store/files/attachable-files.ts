import { buffer } from 'node:stream/consumers'

import { errors } from '../../../base/errors.ts'
import type { Policy } from '../../../kernel/policy/policy.ts'
import type { FileSource } from '../../messaging/index.ts'
import type { Objects } from '../objects/objects.ts'
import { NoSuchObject } from '../objects/storage.ts'
import { requireReady } from './file-status.ts'
import type { Files } from './files.ts'
import { plainTypeOf } from './sniff.ts'

/** The files that a caller may attach to messages: those that they may read. */
export const attachableFiles =
  ({ policy, files, objects }: { policy: Policy; files: Files; objects: Objects }): FileSource =>
  async (caller, id) => {
    // A service key for messages alone reads no files.
    policy.admit(caller, { access: 'user', wire: 'store', method: 'GET' })
    const file = requireReady(await files.read(id, caller))
    return {
      name: file.original_name,
      contentType: plainTypeOf(file.content_type),
      size: file.size,
      async read() {
        try {
          return await buffer(await objects.read('uploads', file.object))
        } catch (error) {
          if (!(error instanceof NoSuchObject)) throw error
          throw errors.internal_error({
            message: `The bytes of file ${id} are missing in the storage: restore them from a backup.`,
            cause: error,
          })
        }
      },
    }
  }
