import type { Readable } from 'node:stream'

import { invalid } from '../../../base/errors.ts'
import { idPattern, idsWithin, leastIdOf } from '../../../base/ids.ts'
import type { Once } from '../../../http/route.ts'
import { ownerOf } from '../documents/routes/transfer/imported-document.ts'
import { contentUrlOf } from './addresses/links.ts'
import type { Uploads } from './uploads/upload.ts'

/** A file of another system. */
export type ImportedFile = {
  /** Its id, if it is one of ours. Default: a new one. */
  readonly id?: string | undefined
  /** Its address there. The same bytes of the same address are stored once. */
  readonly from: string
  readonly name: string
  /** Undefined: that of its bytes only. */
  readonly contentType: string | undefined
  /** The account that it belongs to. Default: none. */
  readonly owner: string | undefined
  readonly metadata: Record<string, unknown>
  readonly size: number
  /** Its time, in milliseconds since 1970. */
  readonly modifiedAt: number
  readonly stream: Readable
}

const OWN_ID = new RegExp(idPattern)
const SYSTEM_OWNER = 'system'
const NO_TYPE = 'application/octet-stream'

/** Files of other systems, as the command line imports them. */
export const createFileImports = ({ upload }: { upload: Uploads }) => ({
  /**
   * Stores a file as an upload does. If it is repeated, nothing is added: its id is made of its address, its time and its bytes.
   *
   * @returns the path of its bytes
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE
   */
  async add({
    id,
    from,
    name,
    contentType = NO_TYPE,
    owner,
    metadata,
    size,
    modifiedAt,
    stream,
  }: ImportedFile): Promise<string> {
    if (id !== undefined && !OWN_ID.test(id)) throw invalid({ path: '/_id', message: 'is no id of a file' })
    const once: Once = async (fingerprint, perform) => {
      const place = `${leastIdOf(Math.max(0, Math.floor(modifiedAt)))}000`
      return perform(id ?? idsWithin(`${place} ${JSON.stringify([from, fingerprint])}`, 1)[0]!, false)
    }
    const file = { field: 'file', name, contentType, stream }
    const body = { file, contentLength: size, isRepeatable: false, fields: async () => ({ metadata }) }
    const caller = { kind: 'key', id: ownerOf(owner, 'owner') ?? SYSTEM_OWNER, scopes: [] } as const
    return upload({ body, caller, once, signal: new AbortController().signal }, ({ id }) =>
      contentUrlOf('', id),
    )
  },
})

export type FileImports = ReturnType<typeof createFileImports>
