import type { Static } from 'typebox'

import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { json, multipart } from '../../../http/bodies.ts'
import { PageQuery, PageReply } from '../../../http/page.ts'
import type { Caller } from '../../../http/access.ts'
import { countedFor } from '../../../http/limits.ts'
import { answer, jsonText, endpoint, type JsonText } from '../../../http/route.ts'
import { storeErrors } from '../errors.ts'
import { isPrivileged } from '../../../kernel/policy/policy.ts'
import { FileFilterFields } from './lists/file-filter.ts'
import { FILE_SORTS, type FileList } from './lists/file-list.ts'
import type { FilesAccess } from '../documents/file-fields/file-access.ts'
import type { FileUses } from '../documents/file-fields/file-uses.ts'
import { fileJson, type FileRow, type Files } from './files.ts'
import type { PublicFiles } from './content/public-files.ts'
import { OneFile } from './route-parameters.ts'
import type { UploadAll, Uploads } from './uploads/upload.ts'

// The slowest line on which the largest file can be uploaded: 512 kbit/s.
const BYTES_PER_MS = 64
/** So many files one call takes. */
export const FILES_MAX = 100
const RECEIVE_MIN_MS = 60_000
const RECEIVE_MAX_MS = 24 * 3_600_000

/** How long a body with a file may take. @param limit the largest file in bytes */
export const receiveMsOf = (limit: number): number =>
  Math.min(RECEIVE_MAX_MS, RECEIVE_MIN_MS + Math.ceil(limit / BYTES_PER_MS))

// The metadata, and what is around them.
const LARGEST_CHANGE = 66_560

export const FileMetadata = Type.Unsafe<Record<string, unknown>>({
  title: 'FileMetadata',
  type: 'object',
  additionalProperties: true,
  examples: [{ album: 'summer' }],
  description: 'Any fields, as a JSON object of at most 64 KiB.',
})

const ImageSummary = Type.Object(
  {
    width: Type.Integer({ description: 'In pixels, upright.' }),
    height: Type.Integer({ description: 'In pixels, upright.' }),
    preview: Type.String({ description: 'A blurred preview: a ThumbHash, in Base64.' }),
  },
  {
    title: 'ImageSummary',
    description: 'Of an image that can be resized, soon after its upload.',
  },
)

export const FileAccess = Type.Enum(['private', 'public'], {
  description:
    'public: everybody who knows its public address may read it. A new file is private by default.',
})

const StoredFile = Type.Object(
  {
    _id: Type.String(),
    owner: Type.Optional(
      Type.String({
        description:
          'The id of the user, or of the service key, that uploaded it. For administrators and service keys.',
      }),
    ),
    filename: Type.String({ description: 'The name under which it is stored.' }),
    originalName: Type.String({ description: 'The name as uploaded, without folders.' }),
    contentType: Type.String({
      description: 'The media type that the bytes show; application/octet-stream if they show none.',
    }),
    size: Type.Integer({ description: 'In bytes.' }),
    sha256: Type.String({ description: 'The SHA-256 of the bytes, in hex.' }),
    url: Type.String({ description: 'Where the bytes are.' }),
    access: FileAccess,
    status: Type.Optional(
      Type.Enum(['pending', 'refused'], {
        description:
          'Why its bytes are not served: they are checked still, or were refused. Absent: they are.',
      }),
    ),
    refusal: Type.Optional(Type.String({ description: 'Why it is refused.' })),
    image: Type.Optional(ImageSummary),
    metadata: FileMetadata,
    createdAt: Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds.' }),
  },
  { title: 'StoredFile' },
)
type StoredFile = Static<typeof StoredFile>

const StoredFiles = Type.Object(
  { files: Type.Array(StoredFile, { description: 'In the order of the parts.' }) },
  { title: 'StoredFiles' },
)

const UploadParts = Type.Object({
  metadata: Type.Optional(FileMetadata),
  access: Type.Optional(FileAccess),
})

const ListQuery = Type.Object({
  ...PageQuery,
  sort: Type.Enum(FILE_SORTS, {
    default: '-createdAt',
    description: 'A leading minus sorts in descending order.',
  }),
  ...FileFilterFields,
})

const USES_MAX = 100

const FileUseList = Type.Object(
  {
    uses: Type.Array(
      Type.Object({
        collection: Type.String({ examples: ['products'] }),
        field: Type.String({ examples: ['photo'] }),
        _id: Type.String({ description: 'Of the document.' }),
      }),
    ),
  },
  { title: 'FileUseList' },
)

/** @param options.limit the largest file in bytes */
export function fileEndpoints({
  files,
  publicFiles,
  list,
  upload,
  uploadAll,
  access,
  uses,
  limit,
  publicUrl,
}: {
  files: Files
  publicFiles: PublicFiles
  uses: FileUses
  list: FileList
  upload: Uploads
  uploadAll: UploadAll
  access: FilesAccess
  /** How many bytes a file may have. */
  limit: number
  publicUrl: string
}) {
  const textOf = (caller: Caller | undefined) => {
    const hasOwner = isPrivileged(caller)
    return (row: FileRow): string => fileJson(row, { publicUrl, hasOwner })
  }
  /** The records of files that documents may have. */
  async function textsOf(caller: Caller | undefined, rows: readonly FileRow[]): Promise<string[]> {
    const hasOwner = isPrivileged(caller)
    const urlOf = await publicFiles.urlsOf(rows)
    return rows.map((row) => fileJson(row, { publicUrl, hasOwner, url: urlOf(row) }))
  }
  const answerOf = async (caller: Caller | undefined, row: FileRow): Promise<JsonText<StoredFile>> => {
    const [text] = await textsOf(caller, [row])
    return jsonText<StoredFile>(text!)
  }

  return {
    upload: endpoint(
      {
        summary: 'Upload a file',
        description: `The file may have up to ${limit} bytes. Its record is created once all its bytes are safe.`,
        access: 'user',
        limit: '300/min',
        idempotent: true,
        body: multipart({ file: { maxBytes: limit }, fields: UploadParts, receiveMs: receiveMsOf(limit) }),
        reply: { 201: StoredFile },
        errors: [storeErrors.quota_exceeded, errors.unavailable],
      },
      (call) => {
        access.rowFilter(call.caller, 'create')
        const text = textOf(call.caller)
        return upload(call, (row) => answer<StoredFile>(jsonText(text(row)), { status: 201 }))
      },
    ),
    uploadSeveral: endpoint(
      {
        summary: 'Upload several files',
        description: `Stores all files or none: up to ${FILES_MAX}, with up to ${limit} bytes together. Each gets the metadata and the access.`,
        access: 'user',
        limit: '300/min',
        idempotent: true,
        body: multipart({
          file: { maxBytes: limit, max: FILES_MAX },
          fields: UploadParts,
          receiveMs: receiveMsOf(limit),
        }),
        reply: { 201: StoredFiles },
        errors: [storeErrors.quota_exceeded, errors.unavailable],
      },
      (call) => {
        access.rowFilter(call.caller, 'create')
        const text = textOf(call.caller)
        return uploadAll(call, (rows) =>
          answer<Static<typeof StoredFiles>>(jsonText(`{"files":[${rows.map(text).join(',')}]}`), {
            status: 201,
          }),
        )
      },
    ),
    list: endpoint(
      {
        summary: 'List files',
        access: 'optional',
        readsOnly: true,
        query: ListQuery,
        reply: {
          200: Type.Object({ files: Type.Array(StoredFile), ...PageReply }, { title: 'StoredFilePage' }),
        },
      },
      async ({ query, caller, ip, signal }) => {
        const options = { caller: countedFor({ caller, ip }), signal }
        const page = await list(
          access.rowFilter(caller, 'read'),
          await access.withOwner(caller, query),
          options,
        )
        const { total, limit: applied, offset, nextCursor } = page
        const rest = JSON.stringify({ total, limit: applied, offset, nextCursor })
        return jsonText(`{"files":[${(await textsOf(caller, page.files)).join(',')}],${rest.slice(1)}`)
      },
    ),
    get: endpoint(
      {
        summary: 'Get the record of a file',
        access: 'optional',
        readsOnly: true,
        params: OneFile,
        reply: { 200: StoredFile },
        errors: [errors.not_found],
      },
      async ({ params: { id }, caller }) => answerOf(caller, await files.read(id, caller)),
    ),
    update: endpoint(
      {
        summary: 'Change a file',
        description:
          'Makes it public or private, or replaces its metadata. Its bytes do not change. If it becomes private, its public address ends at once, and is not used again.',
        access: 'optional',
        params: OneFile,
        body: json(
          Type.Object(
            {
              access: Type.Optional(FileAccess),
              metadata: Type.Optional(FileMetadata),
            },
            { title: 'UpdateFileRequest', examples: [{ access: 'public' }] },
          ),
          { maxBytes: LARGEST_CHANGE },
        ),
        reply: { 200: StoredFile },
        errors: [errors.not_found, storeErrors.quota_exceeded],
      },
      async ({ params: { id }, body, caller }) =>
        answerOf(
          caller,
          await files.update(id, { caller, rowFilter: access.rowFilter(caller, 'update') }, body),
        ),
    ),
    uses: endpoint(
      {
        summary: 'List the documents that have a file',
        description: `Those that have it in a field of files, at most ${USES_MAX}.`,
        access: 'operator',
        readsOnly: true,
        params: OneFile,
        reply: { 200: FileUseList },
        errors: [errors.not_found, errors.unavailable],
      },
      async ({ params: { id }, caller }) => {
        await files.read(id, caller)
        const found = (await uses.usesOf(id)).flatMap(({ field: { collection, path }, documents }) =>
          documents.map((_id) => ({ collection, field: path.join('.'), _id })),
        )
        return { uses: found.slice(0, USES_MAX) }
      },
    ),
    remove: endpoint(
      {
        summary: 'Delete a file',
        description:
          'Deletes its bytes and resized images as well. 409 if a document has it in a field of files.',
        access: 'optional',
        params: OneFile,
        reply: { 200: Type.Object({ message: Type.String() }, { title: 'Confirmation' }) },
        errors: [errors.not_found, errors.conflict],
      },
      async ({ params: { id }, caller }) => {
        await files.remove(id, access.rowFilter(caller, 'delete'))
        return { message: `The file ${id} is deleted.` }
      },
    ),
  }
}
