import { ApiError, errors, invalid } from '../../../base/errors.ts'
import type { Fault } from '../../../base/with-rule.ts'
import type { Caller } from '../../../http/access.ts'
import type { Attachment } from '../providers/provider.ts'

/** All attachments of a message together: as much as a body of 1 MiB holds in base64. */
const TOTAL_MAX_BYTES = 786_432

/** An attachment of a request: either `content`, in base64, with a name and a type, or a stored file. */
export type AttachmentInput = {
  filename?: string
  contentType?: string
  content?: string
  fileId?: string
}

/** A stored file that can be attached. */
export type AttachableFile = {
  name: string
  contentType: string
  /** In bytes. */
  size: number
  read: () => Promise<Buffer>
}

/**
 * Opens a stored file for a caller.
 *
 * @throws NOT_FOUND if there is none that the caller may read
 */
export type FileSource = (caller: Caller, id: string) => Promise<AttachableFile>

/** What the schema of an attachment does not say. */
export function attachmentFault({
  filename,
  contentType,
  content,
  fileId,
}: AttachmentInput): Fault | undefined {
  if (fileId !== undefined)
    return content === undefined
      ? undefined
      : { path: '/fileId', message: 'must not be given together with content' }
  if (content === undefined) return { path: '/content', message: 'is required, unless fileId is given' }
  if (filename === undefined) return { path: '/filename', message: 'is required' }
  if (contentType === undefined) return { path: '/contentType', message: 'is required' }
  return undefined
}

export type Attachments = ReturnType<typeof createAttachments>

export function createAttachments() {
  let openFile: FileSource | undefined

  async function open(caller: Caller, { fileId, ...input }: AttachmentInput, path: string) {
    if (fileId === undefined) {
      const content = Buffer.from(input.content!, 'base64')
      return {
        name: input.filename!,
        contentType: input.contentType!,
        size: content.length,
        read: async () => content,
      }
    }
    if (!openFile)
      throw invalid({ path, message: 'the wire store is not loaded: send the content in base64' })
    try {
      return await openFile(caller, fileId)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== errors.not_found.code) throw error
      throw invalid({ path, message: 'you have no file with this id' })
    }
  }

  return {
    /** Sets where stored files come from; called once, by the wire that has them. */
    setFileSource(source: FileSource): void {
      openFile = source
    },

    /**
     * Reads the attachments of a message, stored files as well.
     *
     * @throws VALIDATION_ERROR if the caller has no such file; PAYLOAD_TOO_LARGE before anything is read
     */
    async read(caller: Caller, inputs: readonly AttachmentInput[]): Promise<Attachment[]> {
      const files = await Promise.all(
        inputs.map((input, at) => open(caller, input, `/body/attachments/${at}/fileId`)),
      )
      const total = files.reduce((sum, { size }) => sum + size, 0)
      if (total > TOTAL_MAX_BYTES)
        throw errors.payload_too_large({
          message: `The attachments are larger than ${TOTAL_MAX_BYTES} bytes together.`,
        })
      return Promise.all(
        files.map(async ({ name, contentType, read }, at) => ({
          filename: inputs[at]!.filename ?? name,
          contentType: inputs[at]!.contentType ?? contentType,
          content: await read(),
        })),
      )
    },
  }
}
