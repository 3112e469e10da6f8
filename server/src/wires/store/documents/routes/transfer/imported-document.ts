import { isoTime } from '../../../../../base/clock.ts'
import { invalid } from '../../../../../base/errors.ts'
import { idPattern, newId, timeOfId } from '../../../../../base/ids.ts'
import { documentIdOf } from '../../language/document-id.ts'
import { withoutServiceFields, type Fields, type ServiceFields } from '../../language/document-json.ts'
import { OWNER } from './export-documents.ts'

/** Which fields of a line have what the server sets otherwise. */
export type ImportedFields = {
  /** Whether `_id` and the times of a line are kept. */
  readonly ids: 'keep' | 'new'
  /** The field that becomes `createdAt`, in place of that of this name. `_id`: the time in a MongoDB ObjectId. */
  readonly createdAt?: string
  readonly updatedAt?: string
  /** The field with the owner, where a line has no `$owner`. It stays in the document. */
  readonly ownerField?: string
}

/** What a line of a file says of a document. */
export type ImportedDocument = {
  readonly service: ServiceFields
  readonly fields: Fields
  readonly owner: string | undefined
}

const OWN_ID = new RegExp(idPattern)
const OBJECT_ID = /^[0-9a-f]{24}$/i
/** The form of an owner: an export writes it into JSON as it is. None is the owner of all in the counts. */
export const OWNER_PATTERN = '^[A-Za-z0-9_.:-]{1,64}$'
const OWNER_NAME = new RegExp(OWNER_PATTERN)
// ISO 8601, with a space as SQL writes it; without an offset it is UTC.
const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d(?::?\d\d)?)?$/i

/**
 * Reads the document of a line.
 *
 * @param now the time of a document that has none, in milliseconds since 1970
 * @throws VALIDATION_ERROR
 */
export function importedDocument(sent: Fields, of: ImportedFields, now: number): ImportedDocument {
  const { [OWNER]: owner, ...fields } = sent
  const isKept = of.ids === 'keep'
  const recordId = newId(now)
  const id = isKept && fields['_id'] !== undefined ? documentIdOf(fields['_id'], '/_id') : recordId
  const createdAt = timeAt(fields, of.createdAt ?? (isKept ? 'createdAt' : undefined))
  const updatedAt = timeAt(fields, of.updatedAt ?? (isKept ? 'updatedAt' : undefined))
  const time = createdAt ?? timeOfId(OWN_ID.test(id) ? id : recordId)
  const service = { _id: id, createdAt: isoTime(time), updatedAt: isoTime(updatedAt ?? time) }
  const owning = owner === undefined && of.ownerField !== undefined ? of.ownerField : OWNER
  const kept = withoutServiceFields(fields)
  // It has become a field of the server.
  const moved = [of.createdAt, of.updatedAt].filter((name) => name !== undefined && name in kept)
  return {
    service,
    fields:
      moved.length === 0
        ? kept
        : Object.fromEntries(Object.entries(kept).filter(([name]) => !moved.includes(name))),
    owner: ownerOf(sent[owning], owning),
  }
}

/**
 * The owner that a field names; undefined if it names none.
 *
 * @throws VALIDATION_ERROR
 */
export function ownerOf(value: unknown, field: string): string | undefined {
  if (value === undefined || (value === null && field !== OWNER)) return undefined
  if (typeof value === 'string' && OWNER_NAME.test(value)) return value
  throw invalid({
    path: `/${field}`,
    message: 'must be the id of an account or a service key, or system',
  })
}

/** The time in a field, in milliseconds since 1970; undefined if there is none. */
function timeAt(fields: Fields, name: string | undefined): number | undefined {
  if (name === undefined || !Object.hasOwn(fields, name)) return undefined
  const value = fields[name]
  if (value === null) return undefined
  const time = name === '_id' ? timeOfObjectId(value) : timeOf(value)
  if (!(time >= YEAR_0 && time < YEAR_10000))
    throw invalid({
      path: `/${name}`,
      message:
        name === '_id'
          ? 'is no ObjectId of MongoDB, which would have a time in it'
          : 'must be a time in ISO 8601, such as 2026-01-01T00:00:00.000Z, or milliseconds since 1970',
    })
  return time
}

// Texts of other years do not sort by time.
const YEAR_0 = -62_167_219_200_000
const YEAR_10000 = 253_402_300_800_000

function timeOf(value: unknown): number {
  if (typeof value === 'number') return Number.isInteger(value) ? value : NaN
  const [, date, clock, offset = 'Z'] = (typeof value === 'string' && TIME.exec(value)) || []
  if (date === undefined) return NaN
  const minutes = offset.length === 3 ? `${offset}:00` : offset.replace(/(\d\d)(\d\d)$/, '$1:$2')
  return Date.parse(`${date}T${clock}${minutes.toUpperCase()}`)
}

/** @see https://www.mongodb.com/docs/manual/reference/bson-types/#objectid */
const timeOfObjectId = (value: unknown): number =>
  typeof value === 'string' && OBJECT_ID.test(value) ? parseInt(value.slice(0, 8), 16) * 1000 : NaN
