import type { Readable } from 'node:stream'

import type { Static } from 'typebox'

import { checkedStream } from '../../../../base/checked-stream.ts'
import { isoTime } from '../../../../base/clock.ts'
import { errors, invalid } from '../../../../base/errors.ts'
import { allRows, ownRows, type RowFilter } from '../../../../base/row-filter.ts'
import { Type } from '../../../../base/schema.ts'
import type { Caller } from '../../../../http/access.ts'
import { json, multipart } from '../../../../http/bodies.ts'
import { endpoint } from '../../../../http/route.ts'
import { isPrivileged } from '../../../../kernel/policy/policy.ts'
import { storeErrors } from '../../errors.ts'
import { FileAccess, FileMetadata, receiveMsOf } from '../file-endpoints.ts'
import type { FilesAccess } from '../../documents/file-fields/file-access.ts'
import type { FileRow } from '../files.ts'
import { isOfTypes, MediaTypes } from '../media-types.ts'
import { plainTypeOf } from '../sniff.ts'
import { usedLink, type UploadLink, type UploadLinks } from './upload-links.ts'
import { OneLink } from '../route-parameters.ts'
import type { Uploads } from '../uploads/upload.ts'

const LONGEST_LINK_SECONDS = 7 * 86_400
// The metadata of a file, the types, and what is around them.
const LARGEST_REQUEST = 81_920

const CreatedLink = Type.Object(
  {
    _id: Type.String(),
    url: Type.String({ format: 'uri', description: 'Takes one file without a token of a caller.' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'CreatedUploadLink' },
)

const Link = Type.Object(
  {
    _id: Type.String(),
    owner: Type.String({ description: 'Who made it: its file belongs to them.' }),
    types: Type.Optional(MediaTypes),
    maxBytes: Type.Integer(),
    access: FileAccess,
    metadata: FileMetadata,
    file: Type.Union([Type.String(), Type.Null()], {
      description: 'The _id of the file that was uploaded by it; null until then.',
    }),
    createdAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time' }),
  },
  { title: 'UploadLink' },
)

// Neither the metadata of the link, nor who made it.
const ReceivedFile = Type.Object(
  {
    _id: Type.String(),
    originalName: Type.String({ description: 'The name as uploaded, without folders.' }),
    contentType: Type.String({ description: 'The media type that the bytes show.' }),
    size: Type.Integer({ description: 'In bytes.' }),
    sha256: Type.String({ description: 'The SHA-256 of the bytes, in hex.' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { title: 'ReceivedFile' },
)

/** The endpoints of links by which files are uploaded without an account. */
export function uploadLinkEndpoints({
  uploadLinks,
  upload,
  access,
  limit,
}: {
  uploadLinks: UploadLinks
  upload: Uploads
  access: FilesAccess
  /** How many bytes a file may have. */
  limit: number
}) {
  return {
    create: endpoint(
      {
        summary: 'Create an upload link',
        description:
          'Its address takes one file without a token of a caller. The file belongs to the caller of this route, and counts in their quota. The link ends once a file is stored, not by an upload that fails.',
        access: 'user',
        limit: '300/min',
        body: json(
          Type.Object(
            {
              types: Type.Optional(MediaTypes),
              maxBytes: Type.Integer({
                minimum: 1,
                maximum: limit,
                default: limit,
                description: 'How many bytes the file may have.',
              }),
              expiresIn: Type.Integer({
                minimum: 1,
                maximum: LONGEST_LINK_SECONDS,
                default: 3600,
                description: 'Seconds, up to 7 days. An upload that began in time is taken.',
              }),
              access: Type.Optional(FileAccess),
              metadata: Type.Optional(FileMetadata),
            },
            { title: 'CreateUploadLinkRequest' },
          ),
          { maxBytes: LARGEST_REQUEST },
        ),
        reply: { 201: CreatedLink },
      },
      async ({ body: { expiresIn, access: fileAccess = 'private', metadata = {}, ...terms }, caller }) => {
        access.rowFilter(caller, 'create')
        const { id, ...link } = await uploadLinks.create(
          caller,
          { ...terms, access: fileAccess, metadata },
          expiresIn,
        )
        return { _id: id, ...link }
      },
    ),
    upload: endpoint(
      {
        summary: 'Upload a file by a link',
        access: 'public',
        limit: '60/min',
        idempotent: true,
        params: OneLink,
        query: Type.Object({
          token: Type.String({
            maxLength: 100,
            description: 'The token of the link.',
            examples: ['mc9x1k2a.3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
          }),
        }),
        body: multipart({ file: { maxBytes: limit }, receiveMs: receiveMsOf(limit) }),
        reply: { 201: ReceivedFile },
        errors: [
          errors.unauthorized,
          errors.not_found,
          errors.conflict,
          storeErrors.quota_exceeded,
          errors.unavailable,
        ],
      },
      async ({ params: { id }, query: { token }, body, once, signal }) => {
        const link = await uploadLinks.open(id, token)
        // A repetition of the call that used it gets its answer.
        if (link.file !== null && !body.isRepeatable) throw usedLink()
        return upload(
          {
            body: {
              ...body,
              file: { ...body.file, stream: atMost(body.file.stream, link.maxBytes) },
              async fields() {
                await body.fields()
                return { metadata: link.metadata, access: link.access }
              },
            },
            caller: link.owner,
            once,
            signal,
            stepsOf(row) {
              checkType(row, link)
              return [uploadLinks.useSql(link, row.id)]
            },
          },
          receivedFile,
        )
      },
    ),
    get: endpoint(
      {
        summary: 'Get an upload link',
        description: 'Tells which file was uploaded by it. Its address is answered once, when it is created.',
        access: 'user',
        readsOnly: true,
        params: OneLink,
        reply: { 200: Link },
        errors: [errors.not_found],
      },
      async ({ params: { id }, caller }) => shown(await uploadLinks.get(id, rowFilterOf(caller))),
    ),
    remove: endpoint(
      {
        summary: 'Delete an upload link',
        description: 'Nothing can be uploaded by it any more. A file that was uploaded by it stays.',
        access: 'user',
        params: OneLink,
        reply: { 200: Type.Object({ message: Type.String() }, { title: 'Confirmation' }) },
        errors: [errors.not_found],
      },
      async ({ params: { id }, caller }) => {
        await uploadLinks.remove(id, rowFilterOf(caller))
        return { message: `The upload link ${id} is deleted.` }
      },
    ),
  }
}

const rowFilterOf = (caller: Caller): RowFilter => (isPrivileged(caller) ? allRows : ownRows(caller.id))

function checkType({ content_type: contentType }: FileRow, { types }: UploadLink): void {
  if (types && !isOfTypes(contentType, types))
    throw invalid({
      path: '/body/file',
      message: `must be ${types.join(' or ')}: its bytes show ${plainTypeOf(contentType)}`,
    })
}

/** @throws PAYLOAD_TOO_LARGE by the stream */
function atMost(source: Readable, maxBytes: number): Readable {
  let size = 0
  return checkedStream(source, {
    chunk: (bytes) => ((size += bytes.length) > maxBytes ? tooLarge(maxBytes) : undefined),
  })
}

const tooLarge = (maxBytes: number) =>
  errors.payload_too_large({ message: `The file is larger than ${maxBytes} bytes.` })

const receivedFile = (row: FileRow): Static<typeof ReceivedFile> => ({
  _id: row.id,
  originalName: row.original_name,
  contentType: plainTypeOf(row.content_type),
  size: row.size,
  sha256: row.sha256,
  createdAt: isoTime(row.created_at),
})

const shown = ({ id, owner, createdAt, expiresAt, ...link }: UploadLink) => ({
  _id: id,
  owner: owner.id,
  ...link,
  createdAt: isoTime(createdAt),
  expiresAt: isoTime(expiresAt),
})
