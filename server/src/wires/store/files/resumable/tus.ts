import { errors, invalid } from '../../../../base/errors.ts'
import { decodeUtf8, parseStrictJson } from '../../../../base/json.ts'
import { checkName } from '../receiving/receive-files.ts'
import type { UploadFields } from '../uploads/upload.ts'

// The protocol: https://tus.io/protocols/resumable-upload
const VERSION = '1.0.0'
export const PIECE_TYPE = 'application/offset+octet-stream'
const ALGORITHMS = ['sha1', 'sha256'] as const
const EXPOSED = [
  'location',
  'retry-after',
  'tus-checksum-algorithm',
  'tus-extension',
  'tus-max-size',
  'tus-resumable',
  'tus-version',
  'upload-expires',
  'upload-file',
  'upload-length',
  'upload-metadata',
  'upload-offset',
  'x-request-id',
]

/** Headers of every answer to uploads, which pages of other origins may read. @param limit the largest file in bytes */
export const tusHeaders = (limit: number): Record<string, string> => ({
  'tus-resumable': VERSION,
  'tus-version': VERSION,
  'tus-extension': 'creation,creation-with-upload,termination,checksum,expiration',
  'tus-max-size': String(limit),
  'tus-checksum-algorithm': ALGORITHMS.join(','),
  'access-control-expose-headers': EXPOSED.join(', '),
})

/** @throws PRECONDITION_FAILED if a client speaks another version of the protocol */
export function checkVersion(version: string | undefined): void {
  if (version !== undefined && version !== VERSION)
    throw errors.precondition_failed({
      message: `The version ${version.slice(0, 20)} of tus is not supported: use ${VERSION}.`,
    })
}

/** The SHA of a body, as its sender has computed it. */
export type Checksum = { algorithm: (typeof ALGORITHMS)[number]; digest: Buffer }

/** Reads `Upload-Checksum`. @throws VALIDATION_ERROR */
export function checksumOf(header: string | undefined): Checksum | undefined {
  if (header === undefined) return undefined
  const [name, text = ''] = header.split(' ')
  const algorithm = ALGORITHMS.find((one) => one === name)
  if (!algorithm)
    throw invalid({ path: '/headers/upload-checksum', message: `must begin with ${ALGORITHMS.join(' or ')}` })
  return { algorithm, digest: Buffer.from(text, 'base64') }
}

/** What is known of a file before its bytes. The `sha256` is in hexadecimal digits. */
export type DeclaredFile = UploadFields & { name: string; contentType: string; sha256?: string }

const PATH = '/headers/upload-metadata'
const NO_NAME = 'file'
const UNKNOWN_TYPE = 'application/octet-stream'

/**
 * Reads `Upload-Metadata`: `filename` or `name`, `filetype` or `type`, `sha256`, and the fields of an upload. Other keys are left to
 * the client.
 *
 * @throws VALIDATION_ERROR
 */
export function declaredFileOf(header: string): DeclaredFile {
  const values = valuesOf(header)
  const name = (values.get('filename') || values.get('name') || '').replace(/^.*[/\\]/s, '') || NO_NAME
  checkName(name, PATH)
  const type = values.get('filetype') || values.get('type') || UNKNOWN_TYPE
  return {
    name,
    contentType: type.split(';', 1)[0]!.trim().toLowerCase(),
    ...metadataIn(values.get('metadata')),
    ...accessIn(values.get('access')),
    ...sha256In(values.get('sha256')),
  }
}

function valuesOf(header: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const pair of header.split(',')) {
    const [key = '', text = '', ...rest] = pair.trim().split(' ')
    if (key === '' && header.trim() === '') continue
    const bytes = Buffer.from(text, 'base64')
    if (
      key === '' ||
      rest.length > 0 ||
      bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')
    )
      throw invalid({
        path: PATH,
        message: 'must be pairs of a key and a value in Base64, with commas between',
      })
    if (values.has(key)) throw invalid({ path: PATH, message: `holds ${key.slice(0, 64)} twice` })
    values.set(key, decodeUtf8(bytes, PATH))
  }
  return values
}

function metadataIn(text: string | undefined): Pick<UploadFields, 'metadata'> {
  if (text === undefined) return {}
  const metadata = parseStrictJson(text, { at: PATH })
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw invalid({ path: PATH, message: 'metadata must be a JSON object' })
  return { metadata: metadata as Record<string, unknown> }
}

function accessIn(text: string | undefined): Pick<UploadFields, 'access'> {
  if (text === undefined) return {}
  if (text !== 'private' && text !== 'public')
    throw invalid({ path: PATH, message: 'access must be private or public' })
  return { access: text }
}

function sha256In(text: string | undefined): Pick<DeclaredFile, 'sha256'> {
  if (text === undefined) return {}
  if (!/^[\da-f]{64}$/i.test(text))
    throw invalid({ path: PATH, message: 'sha256 must be 64 hexadecimal digits' })
  return { sha256: text.toLowerCase() }
}
