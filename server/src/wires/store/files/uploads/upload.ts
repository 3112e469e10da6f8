import { idsWithin, timeOfId } from '../../../../base/ids.ts'
import type { Step } from '../../../../db/database.ts'
import type { Upload, UploadedFile } from '../../../../http/bodies.ts'
import type { Once } from '../../../../http/route.ts'
import { newFileState, type FileRow, type Files } from '../files.ts'
import type { FileOwner, Reservation } from '../../quota.ts'
import type { FilePrint, AdoptableObject, NewFile, ReceiveFiles } from '../receiving/receive-files.ts'

/** What the headers of further files may take in a body. */
const HEADERS_BYTES = 102_400

/** What is sent beside the bytes. */
export type UploadFields = { metadata?: Record<string, unknown>; access?: FileRow['access'] }

type Received = {
  /** Whose the file will be. */
  caller: FileOwner
  once: Once
  signal: AbortSignal
}

/** An upload as its route receives it. */
export type ReceivedUpload = Received & {
  body: Omit<Upload<UploadFields, true>, 'files'>
  adoptable?: AdoptableObject | undefined
  /** Room that was reserved before. */
  reservation?: Reservation
  /** Checks the record before it is created, and gives further steps of the batch that creates it. */
  stepsOf?: (row: FileRow) => readonly Step[]
}

export function createUploads({ receive, files }: { receive: ReceiveFiles; files: Files }) {
  /**
   * Stores a file: its bytes first, then its record. Whatever fails leaves neither.
   *
   * @param reply makes the answer from the record
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE
   */
  function upload<T>(
    {
      body: { file, fields, contentLength, isRepeatable },
      adoptable,
      caller,
      once,
      signal,
      reservation,
      stepsOf,
    }: ReceivedUpload,
    reply: (row: FileRow) => T,
  ): Promise<T> {
    return receive(
      { files: only(file), adoptable, contentLength, isRepeatable, caller, once, signal },
      {
        ...(reservation && { reservation }),
        contentOf: async ([print]) => contentOf(print!, await fields()),
        async create(received, made) {
          const rows = rowsOf(received, [made.id], caller, await fields())
          const [row] = await files.create(rows, received, {
            ...made,
            caller,
            steps: stepsOf?.(rows[0]!) ?? [],
          })
          return reply(row!)
        },
      },
    )
  }

  /**
   * Stores all files of a body, or none. Each gets the fields.
   *
   * @param reply makes the answer from their records
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE, QUOTA_EXCEEDED, UNAVAILABLE
   */
  function uploadAll<T>(
    { body, caller, once, signal }: Received & { body: Upload<UploadFields> },
    reply: (rows: readonly FileRow[]) => T,
  ): Promise<T> {
    const { files: parts, fields, contentLength, isRepeatable } = body
    return receive(
      { files: parts, contentLength, isRepeatable, caller, once, signal },
      {
        certainBytes: contentLength === undefined ? undefined : Math.max(0, contentLength - HEADERS_BYTES),
        async contentOf(prints) {
          const sent = await fields()
          return prints.map((print) => contentOf(print, sent))
        },
        async create(received, { id, ...made }) {
          const rows = rowsOf(received, idsWithin(id, received.length), caller, await fields())
          return reply(await files.create(rows, received, { ...made, caller }))
        },
      },
    )
  }

  return { upload, uploadAll }
}

export type Uploads = ReturnType<typeof createUploads>['upload']
export type UploadAll = ReturnType<typeof createUploads>['uploadAll']

async function* only(file: UploadedFile): AsyncGenerator<UploadedFile> {
  yield file
}

/** The records of files that were received, with these ids. */
export const rowsOf = (
  received: readonly NewFile[],
  ids: readonly string[],
  owner: FileOwner,
  { metadata = {}, access }: UploadFields,
): FileRow[] =>
  received.map(({ object, name, contentType, size, sha256, status }, i) => ({
    id: ids[i]!,
    owner: owner.id,
    object: object.key,
    original_name: name,
    content_type: contentType,
    size,
    sha256,
    metadata: JSON.stringify(metadata),
    created_at: timeOfId(ids[i]!),
    ...newFileState(status, access),
  }))

const contentOf = (
  { sha256, size, name, declaredType }: FilePrint,
  { metadata = {}, access }: UploadFields,
): unknown[] => [sha256, size, name, declaredType, metadata, ...(access === 'public' ? [access] : [])]
