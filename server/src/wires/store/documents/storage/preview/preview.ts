import { readDocument, joinObjects, type Fields } from '../../language/document-json.ts'

/** What the fields of a preview have together at most, in bytes of JSON. */
export const PREVIEW_BYTES = 3_584
/** A field whose name has more bytes is not shown. */
export const PREVIEW_NAME_BYTES = 256
/** What the mark of a field that is cut takes, beside its name. */
export const PREVIEW_MARK_BYTES = 48
/** Quotes, colon and comma of a field. */
export const PREVIEW_FIELD_BYTES = 4
/** Where a preview tells what was cut; no document has such a field. */
export const PREVIEW = '$preview'

/** A value that is cut: what it is, and how many characters, elements or fields it has. */
export type CutMark = { readonly type: 'string' | 'array' | 'object'; readonly length: number }

/**
 * The preview of a document's JSON: text of more characters is cut, and of arrays and objects with more characters of JSON as many
 * elements or fields are left as fit. `$preview` has what was cut, by the names of fields, and how many fields are not shown at
 * all. The SQL of PostgreSQL does the same: see `previewSql`.
 */
export function previewOf(document: string, characters: number): string {
  const { service, fields } = readDocument(document)
  const shown: Fields = {}
  const cut: Record<string, CutMark> = {}
  let bytes = 0
  let omitted = 0
  for (const [name, value] of Object.entries(fields)) {
    const nameBytes = Buffer.byteLength(name)
    if (nameBytes > PREVIEW_NAME_BYTES) {
      omitted++
      continue
    }
    const part = partOf(value, characters)
    bytes += nameBytes + Buffer.byteLength(JSON.stringify(part.value)) + PREVIEW_FIELD_BYTES
    if (part.mark) bytes += nameBytes + PREVIEW_MARK_BYTES
    if (bytes > PREVIEW_BYTES) {
      omitted++
      continue
    }
    shown[name] = part.value
    if (part.mark) cut[name] = part.mark
  }
  const mark = JSON.stringify({ [PREVIEW]: { cut, omitted } })
  return joinObjects(joinObjects(JSON.stringify(service), JSON.stringify(shown)), mark)
}

function partOf(value: unknown, characters: number): { value: unknown; mark?: CutMark } {
  if (typeof value === 'string') {
    // A character is a code point, as for PostgreSQL.
    const length = value.length <= characters ? value.length : lengthOf(value)
    if (length <= characters) return { value }
    const head = Array.from(value.slice(0, 2 * characters)).slice(0, characters)
    return { value: head.join(''), mark: { type: 'string', length } }
  }
  if (typeof value !== 'object' || value === null) return { value }
  if (lengthOf(JSON.stringify(value)) <= characters) return { value }
  if (Array.isArray(value)) {
    const elements = fitting(value, characters, (element) => JSON.stringify(element))
    return { value: elements, mark: { type: 'array', length: value.length } }
  }
  const members = Object.entries(value)
  const fittingMembers = fitting(members, characters, ([name, inner]) => `${name}${JSON.stringify(inner)}`)
  return { value: Object.fromEntries(fittingMembers), mark: { type: 'object', length: members.length } }
}

/** In code points. */
function lengthOf(text: string): number {
  let length = text.length
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) length--
  return length
}

/** The first parts that have so many characters together, each with a comma. */
function fitting<T>(parts: readonly T[], characters: number, textOf: (part: T) => string): T[] {
  let used = 0
  const end = parts.findIndex((part) => (used += lengthOf(textOf(part)) + 1) > characters)
  return parts.slice(0, end === -1 ? parts.length : end)
}
