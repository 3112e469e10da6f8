import { isUtf8 } from 'node:buffer'

import { ApiError } from '../../../base/errors.ts'
import { idPattern, recordIdPattern } from '../../../base/ids.ts'
import { parseStrictJson } from '../../../base/json.ts'
import {
  isOfItsTime,
  joinObjects,
  operatorNames,
  STORED_BYTES_MAX,
  type Fields,
} from '../documents/language/document-json.ts'
import { newPublicKey } from '../files/files.ts'
import { isCollectionName } from '../documents/language/collection-name.ts'
import type { DefinitionLine, DocumentLine, FileLine } from './archive-format.ts'
import { damaged } from './damaged-archive.ts'

/** A line beyond this is refused before it has been read to its end. */
const LINE_BYTES_MAX = 2 * 1_048_576

const LINE_BREAK = 0x0a
const FILE_ID = new RegExp(idPattern)
const DOCUMENT_ID = new RegExp(recordIdPattern)
const SHA256 = /^[0-9a-f]{64}$/
const PUBLIC_KEY = /^[0-9a-f]{32}$/
// A header's value: printable ASCII (RFC 9110, section 8.3.1).
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: *;[ -~]*)?$/
const MEDIA_TYPE_CHARACTERS = 255
const NAME_CHARACTERS = 1_024
const OWNER_CHARACTERS = 256
const TIME_MAX = 8.64e15
// What an ETag takes.
const VERSION_MAX = 999_999_999_999_999
// The beginning of each document that the store writes.
const SERVICE_FIELDS =
  /^\{"_id":"([\w-]{1,64})","createdAt":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","updatedAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"[,}]/

/** A document of an archive; `body` is its text as the store writes it, which is how the store wrote the archive. */
export type ArchivedDocument = Omit<DocumentLine, 'document'> & { body: string; isOfItsTime: boolean }

/** A file's record of an archive; `metadata` and `image` are JSON text, the first byte for byte. */
export type ArchivedFile = Required<Omit<FileLine, 'metadata' | 'image'>> & {
  image: string | null
  metadata: string
}

/**
 * Splits JSON lines, each of which must end with a line break.
 *
 * @param place the entry, for errors
 * @returns the lines of each piece, numbered from `first`
 * @throws BACKUP_DAMAGED
 */
export async function* linesOf(
  pieces: AsyncIterable<Buffer>,
  place: string,
): AsyncGenerator<{ first: number; lines: Buffer[] }> {
  let first = 1
  let begun: Buffer[] = []
  let begunBytes = 0
  for await (const piece of pieces) {
    const lines: Buffer[] = []
    let start = 0
    for (let end = piece.indexOf(LINE_BREAK); end !== -1; end = piece.indexOf(LINE_BREAK, start)) {
      const part = piece.subarray(start, end)
      lines.push(begunBytes === 0 ? part : Buffer.concat([...begun, part]))
      begun = []
      begunBytes = 0
      start = end + 1
    }
    if (start < piece.length) {
      begun.push(piece.subarray(start))
      begunBytes += piece.length - start
    }
    if (begunBytes > LINE_BYTES_MAX)
      throw damaged(`${place}, line ${first + lines.length}`, 'it is longer than any document')
    yield { first, lines }
    first += lines.length
  }
  if (begunBytes > 0) throw damaged(`${place}, line ${first}`, 'it has no end')
}

/** Reads the line of a document. @throws BACKUP_DAMAGED */
export function readDocumentLine(line: Buffer, place: string): ArchivedDocument {
  const { head, last } = split(line, 'document', place)
  const { id, owner, version, ...others } = head
  checkNames(others, place)
  if (!isId(id, DOCUMENT_ID)) throw damaged(place, 'its id is not an id')
  if (!isOwner(owner)) throw damaged(place, 'its owner is not a text')
  if (!isCount(version) || version < 1 || version > VERSION_MAX)
    throw damaged(place, 'its version is not a number from 1 on')
  const [serviceFields, documentId, createdAt] = SERVICE_FIELDS.exec(last.text) ?? []
  if (documentId !== id) throw damaged(place, 'the document does not begin with _id, createdAt and updatedAt')
  const body = canonical(serviceFields!, last.value as Fields)
  const [operator] = operatorNames(last.value as Fields, body, '')
  if (operator) throw damaged(place, `${operator.message}: ${operator.path}`)
  if (Buffer.byteLength(body) > STORED_BYTES_MAX) throw damaged(place, 'the document is too large')
  return { id, owner, version, body, isOfItsTime: isOfItsTime({ _id: id, createdAt: createdAt! }) }
}

/** A definition of an archive, as text. */
export type ArchivedDefinition = Omit<DefinitionLine, 'definition'> & { definition: string }

/** Reads the line of a definition. @throws BACKUP_DAMAGED */
export function readDefinitionLine(line: Buffer, place: string): ArchivedDefinition {
  const { head, last } = split(line, 'definition', place)
  const { id, ...others } = head
  checkNames(others, place)
  if (typeof id !== 'string' || !isCollectionName(id))
    throw damaged(place, 'its id is no name of a collection')
  if (!last.text.startsWith('{')) throw damaged(place, 'its definition is not an object')
  return { id, definition: last.text }
}

/** Reads the line of a file. @throws BACKUP_DAMAGED */
export function readFileLine(line: Buffer, place: string): ArchivedFile {
  const { head, last } = split(line, 'metadata', place)
  const { id, owner, originalName, contentType, size, sha256, createdAt, ...state } = head
  if (!isId(id, FILE_ID)) throw damaged(place, 'its id is not an id')
  if (!isOwner(owner)) throw damaged(place, 'its owner is not a text')
  if (typeof originalName !== 'string' || originalName.length > NAME_CHARACTERS)
    throw damaged(place, 'its originalName is not a short text')
  if (
    typeof contentType !== 'string' ||
    contentType.length > MEDIA_TYPE_CHARACTERS ||
    !MEDIA_TYPE.test(contentType)
  )
    throw damaged(place, 'its contentType is not a media type')
  if (!isCount(size)) throw damaged(place, 'its size is not a number of bytes')
  if (typeof sha256 !== 'string' || !SHA256.test(sha256)) throw damaged(place, 'its sha256 is not a SHA-256')
  if (!isCount(createdAt) || createdAt > TIME_MAX) throw damaged(place, 'its createdAt is not a time')
  if (!last.text.startsWith('{')) throw damaged(place, 'its metadata is not an object')
  const own = { id, owner, originalName, contentType, size, sha256, createdAt, metadata: last.text }
  return { ...own, ...fileStateOf(state, place) }
}

/** What an archive of an earlier version does not say is as of a new file. */
function fileStateOf(
  state: Record<string, unknown>,
  place: string,
): Pick<ArchivedFile, 'access' | 'publicKey' | 'status' | 'refusal' | 'image' | 'attachedBy'> {
  const {
    access = 'private',
    publicKey = newPublicKey(),
    status = 'ready',
    refusal = null,
    image = null,
    attachedBy = null,
    ...others
  } = state
  checkNames(others, place)
  if (access !== 'private' && access !== 'public') throw damaged(place, 'its access is not private or public')
  if (typeof publicKey !== 'string' || !PUBLIC_KEY.test(publicKey))
    throw damaged(place, 'its publicKey is not 32 hexadecimal digits')
  if (status !== 'ready' && status !== 'pending' && status !== 'refused')
    throw damaged(place, 'its status is not ready, pending or refused')
  if (!isShortOrNull(refusal)) throw damaged(place, 'its refusal is not a short text')
  if (typeof image !== 'object' || Array.isArray(image)) throw damaged(place, 'its image is not an object')
  if (!isShortOrNull(attachedBy)) throw damaged(place, 'its attachedBy is not a short text')
  return { access, publicKey, status, refusal, image: image && JSON.stringify(image), attachedBy }
}

const isShortOrNull = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && value.length <= NAME_CHARACTERS)

/** An archive may be written by others; a stored document is what JSON.stringify writes. */
const canonical = (serviceFields: string, { _id, createdAt, updatedAt, ...fields }: Fields): string =>
  joinObjects(`${serviceFields.slice(0, -1)}}`, JSON.stringify(fields))

const isId = (value: unknown, form: RegExp): value is string => typeof value === 'string' && form.test(value)
const isOwner = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= OWNER_CHARACTERS
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function checkNames(others: object, place: string): void {
  const [name] = Object.keys(others)
  if (name !== undefined) throw damaged(place, `it has an unknown field ${JSON.stringify(name.slice(0, 64))}`)
}

/**
 * Cuts the last field out of a line, so that its text stays as it is. Neither the others nor their values, which are
 * plain, can hold its name in quotes.
 */
function split(line: Buffer, lastField: string, place: string) {
  if (!isUtf8(line)) throw damaged(place, 'it is not UTF-8')
  const text = line.toString()
  const separator = `,"${lastField}":`
  const at = text.indexOf(separator)
  if (at === -1 || !text.endsWith('}')) throw damaged(place, `it has no field ${lastField} at its end`)
  const lastText = text.slice(at + separator.length, -1)
  const head = parseLine(`${text.slice(0, at)}}`, place)
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    throw damaged(place, 'it is not an object')
  const value = parseLine(lastText, place)
  return { head: head as Record<string, unknown>, last: { text: lastText, value } }
}

function parseLine(text: string, place: string): unknown {
  try {
    return parseStrictJson(text, { at: '', takesRounded: true })
  } catch (error) {
    // What the parser says of a request holds for a line as well, but its text is cut: it may quote a field's name.
    if (error instanceof ApiError) throw damaged(place, 'it is not JSON that the store can hold')
    throw error
  }
}
