import type { Static } from 'typebox'

import { isoTime, type Clock } from '../../../../base/clock.ts'
import { errors, invalid } from '../../../../base/errors.ts'
import { Type } from '../../../../base/schema.ts'
import { stream } from '../../../../http/bodies.ts'
import { idempotencyKey } from '../../../../http/idempotency.ts'
import { answer, endpoint, NoBody } from '../../../../http/route.ts'
import { storeErrors } from '../../errors.ts'
import type { Objects } from '../../objects/objects.ts'
import { receiveMsOf } from '../file-endpoints.ts'
import type { FilesAccess } from '../../documents/file-fields/file-access.ts'
import { OneUpload } from '../route-parameters.ts'
import type { Uploads } from '../uploads/upload.ts'
import { appendPieces } from './append-pieces.ts'
import { readBucketState, partSizeOf, type BucketState } from './direct-upload.ts'
import { joinPieces } from './join-pieces.ts'
import type { ResumableUpload, ResumableUploads } from './resumable-uploads.ts'
import { checksumOf, checkVersion, declaredFileOf, PIECE_TYPE, tusHeaders } from './tus.ts'

const HEADER_MAX = 16_384

const UploadState = Type.Object(
  {
    _id: Type.String(),
    offset: Type.Integer({ description: 'How many bytes are stored: the next request continues there.' }),
    size: Type.Integer({ description: 'How many bytes the file has.' }),
    expiresAt: Type.String({
      format: 'date-time',
      description: 'When it is deleted if no more bytes arrive.',
    }),
    file: Type.Optional(Type.String({ description: 'The _id of the file, once all bytes have arrived.' })),
    parts: Type.Optional(
      Type.Array(
        Type.Object({
          number: Type.Integer(),
          start: Type.Integer({ description: 'Where it begins in the file.' }),
          size: Type.Integer(),
          url: Type.String({ format: 'uri', description: 'Presigned for an hour; takes its bytes by PUT.' }),
        }),
        { description: 'Of a direct upload: the first hundred parts that the bucket does not have.' },
      ),
    ),
  },
  { title: 'UploadState' },
)
type UploadState = Static<typeof UploadState>

const VERSION_HEADER = {
  'tus-resumable': Type.Optional(Type.String({ maxLength: HEADER_MAX, description: '1.0.0' })),
}
const CHECKSUM_HEADER = {
  'upload-checksum': Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'sha1 or sha256, a space, and the digest of the body in Base64. The bytes count only if they have it.',
    }),
  ),
}

/** The endpoints of uploads that can be continued, which speak tus 1.0: https://tus.io/protocols/resumable-upload */
export function uploadEndpoints(wire: {
  clock: Clock
  uploads: ResumableUploads
  objects: Objects
  upload: Uploads
  access: FilesAccess
  /** How many bytes a file may have. */
  limit: number
}) {
  const { uploads, access, limit } = wire
  const spec = { access: 'user', answerHeaders: tusHeaders(limit) } as const
  const body = stream({ maxBytes: limit, contentTypes: [PIECE_TYPE], receiveMs: receiveMsOf(limit) })

  /** Reads what has arrived of an upload, and makes the file if that is all. */
  async function refresh(upload: ResumableUpload): Promise<BucketState> {
    const state = await readBucketState(wire, upload)
    return { ...state, upload: await joinPieces(wire, state.upload) }
  }

  return {
    create: endpoint(
      {
        ...spec,
        summary: 'Create a resumable upload',
        description: `By the protocol tus 1.0, with the extensions creation, creation-with-upload, termination, checksum and expiration. The file may have up to ${limit} bytes. Room for all of it is reserved until the upload expires, a day after its last bytes.`,
        limit: '300/min',
        headers: Type.Object({
          ...VERSION_HEADER,
          ...CHECKSUM_HEADER,
          'upload-length': Type.Integer({
            minimum: 0,
            description: 'How many bytes the file has.',
            examples: [11],
          }),
          'upload-metadata': Type.String({
            default: '',
            maxLength: HEADER_MAX,
            description:
              'Keys with values in Base64, with commas between: filename, filetype, access, metadata, a JSON object, and sha256, in hexadecimal digits.',
            examples: ['filename bW9tby50eHQ=,filetype dGV4dC9wbGFpbg=='],
          }),
          'idempotency-key': Type.Optional(
            Type.String({
              description: 'A repeated call with the same key answers the upload of the first.',
            }),
          ),
          'upload-direct': Type.Optional(
            Type.Enum(['true', 'false'], {
              description:
                'If true and the files are in a bucket, the client sends the bytes there, to the presigned URLs of the answer.',
            }),
          ),
          'upload-concat': Type.Optional(
            Type.String({ maxLength: HEADER_MAX, description: 'Not supported.' }),
          ),
        }),
        body,
        reply: { 201: UploadState },
        errors: [
          errors.precondition_failed,
          errors.idempotency_conflict,
          storeErrors.checksum_mismatch,
          storeErrors.quota_exceeded,
          errors.unavailable,
        ],
      },
      async ({ headers, body, caller }) => {
        checkVersion(headers['tus-resumable'])
        access.rowFilter(caller, 'create')
        const { 'upload-length': size, 'upload-metadata': metadata } = headers
        if (size > limit)
          throw errors.payload_too_large({ message: `The file is larger than ${limit} bytes.` })
        declaredFileOf(metadata)
        if (headers['upload-concat'] !== undefined)
          throw invalid({
            path: '/headers/upload-concat',
            message: 'is not supported: upload the file as a whole',
          })
        const checksum = checksumOf(headers['upload-checksum'])
        const isDirect = headers['upload-direct'] === 'true' && !body
        const partSize = isDirect ? partSizeOf(wire.objects, size) : undefined
        const key = idempotencyKey(headers['idempotency-key'])
        const { upload: created, isRepeated } = await uploads.create(caller, {
          size,
          metadata,
          partSize,
          key,
        })
        try {
          const state =
            body && !isRepeated
              ? await refresh(
                  await appendPieces(wire, await uploads.take(created.id, caller.id, 0), body, checksum),
                )
              : await refresh(created)
          return answer<UploadState>(stateOf(state), {
            status: 201,
            headers: { ...headersOf(state.upload), location: `uploads/${created.id}` },
          })
        } catch (error) {
          // Its client does not know the address. What this cannot delete expires.
          if (!isRepeated) await uploads.remove(created.id, caller.id).catch(() => undefined)
          throw error
        }
      },
    ),
    get: endpoint(
      {
        ...spec,
        summary: 'Get the offset of a resumable upload',
        description:
          'With HEAD, as tus does, or with GET. Once the upload is complete, it names the file. For a direct upload it lists the parts that the bucket does not have, and completes the upload if there are none.',
        // It presigns up to a hundred URLs.
        limit: '300/min',
        params: OneUpload,
        headers: Type.Object(VERSION_HEADER),
        reply: { 200: UploadState },
        errors: [
          errors.not_found,
          errors.conflict,
          errors.precondition_failed,
          storeErrors.upload_busy,
          storeErrors.checksum_mismatch,
          storeErrors.quota_exceeded,
          errors.unavailable,
        ],
      },
      async ({ params: { id }, headers, caller }) => {
        checkVersion(headers['tus-resumable'])
        const upload = await uploads.get(id, caller.id)
        // The bytes of a direct upload arrive without a request that checks the rule.
        if (upload.object !== null) access.rowFilter(caller, 'create')
        const state = await refresh(upload)
        return answer<UploadState>(stateOf(state), {
          headers: {
            ...headersOf(state.upload),
            'upload-length': String(upload.size),
            ...(upload.metadata !== '' && { 'upload-metadata': upload.metadata }),
          },
        })
      },
    ),
    append: endpoint(
      {
        ...spec,
        summary: 'Append to a resumable upload',
        description:
          'Bytes are kept as they arrive, so that an upload which is cut off continues there. The answer to the last ones names the file in the header Upload-File.',
        params: OneUpload,
        headers: Type.Object({
          ...VERSION_HEADER,
          ...CHECKSUM_HEADER,
          'upload-offset': Type.Integer({
            minimum: 0,
            description: 'How many bytes are stored.',
            examples: [0],
          }),
        }),
        body,
        reply: { 204: NoBody },
        errors: [
          errors.not_found,
          errors.conflict,
          errors.precondition_failed,
          storeErrors.checksum_mismatch,
          storeErrors.upload_busy,
          errors.unavailable,
        ],
      },
      async ({ params: { id }, headers, body, caller }) => {
        checkVersion(headers['tus-resumable'])
        access.rowFilter(caller, 'create')
        const checksum = checksumOf(headers['upload-checksum'])
        const taken = await uploads.take(id, caller.id, headers['upload-offset'])
        const appended = body ? await appendPieces(wire, taken, body, checksum) : taken
        const row = await joinPieces(wire, appended)
        return answer<never>('', { status: 204, headers: headersOf(row) })
      },
    ),
    remove: endpoint(
      {
        ...spec,
        summary: 'End a resumable upload',
        description: 'What has arrived is deleted. A file that it has become stays.',
        params: OneUpload,
        headers: Type.Object(VERSION_HEADER),
        reply: { 204: NoBody },
        errors: [errors.not_found, errors.precondition_failed],
      },
      async ({ params: { id }, headers, caller }) => {
        checkVersion(headers['tus-resumable'])
        await uploads.remove(id, caller.id)
        return answer<never>('', { status: 204 })
      },
    ),
  }
}

const headersOf = ({ received, expires_at, file_id }: ResumableUpload): Record<string, string> => ({
  'upload-offset': String(received),
  'upload-expires': new Date(expires_at).toUTCString(),
  ...(file_id !== null && { 'upload-file': file_id }),
})

const stateOf = ({
  upload: { id, received, size, expires_at, file_id },
  parts,
}: BucketState): UploadState => ({
  _id: id,
  offset: received,
  size,
  expiresAt: isoTime(expires_at),
  ...(file_id !== null && { file: file_id }),
  ...(parts && { parts }),
})
