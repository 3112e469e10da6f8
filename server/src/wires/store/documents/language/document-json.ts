import { isoTime } from '../../../../base/clock.ts'
import { errors, invalid, ISSUES_SHOWN, type Issue } from '../../../../base/errors.ts'
import { idPattern, timeOfId } from '../../../../base/ids.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { parseJson, parseStrictJson } from '../../../../base/json.ts'
import { isObject } from './query/filter.ts'

const LARGEST_BYTES = 1_048_576
// `_id`, `createdAt` and `updatedAt` always take as many, and do not count.
const SERVICE_FIELDS_BYTES = 113
/** The largest document as it is stored. */
export const STORED_BYTES_MAX = LARGEST_BYTES + SERVICE_FIELDS_BYTES

/** A document's fields as a client sends them. */
export type Fields = Record<string, unknown>

/** A document as it is stored: its JSON as it is answered, and the number of its changes. */
export type DocumentRow = {
  readonly collection: string
  readonly id: string
  readonly owner: string
  readonly body: string
  readonly version: number
}

export type ServiceFields = { _id: string; createdAt: string; updatedAt: string }

const OWN_ID = new RegExp(idPattern)

/** Whether a document was created at the time of its id. If all were, ids are in the order of `createdAt`. */
export const isOfItsTime = ({ _id, createdAt }: Pick<ServiceFields, '_id' | 'createdAt'>): boolean =>
  OWN_ID.test(_id) && isoTime(timeOfId(_id)) === createdAt

/** Where the documents are answered that relations lead to. */
export const EXPANDED = '$expanded'
/** How mongoexport writes values that JSON has no type for. */
const EXTENDED_JSON: ReadonlySet<string> = new Set([
  '$oid',
  '$date',
  '$numberInt',
  '$numberLong',
  '$numberDouble',
  '$numberDecimal',
  '$binary',
  '$uuid',
])
/** The fields that the service writes itself. */
export const SERVICE_FIELDS = ['_id', 'createdAt', 'updatedAt']
const OWN_FIELDS = [...SERVICE_FIELDS, EXPANDED]

/** The fields that a client may set. Those of the service are ignored, so that what was answered can be sent back. */
export function withoutServiceFields(fields: Fields): Fields {
  if (!OWN_FIELDS.some((name) => Object.hasOwn(fields, name))) return fields
  const { _id, createdAt, updatedAt, [EXPANDED]: _expanded, ...others } = fields
  return others
}

/** Reads a stored document: the service's fields, and the others. */
export function readDocument(body: string): { service: ServiceFields; fields: Fields } {
  const { _id, createdAt, updatedAt, ...fields } = parseJson(body) as Fields & ServiceFields
  return { service: { _id, createdAt, updatedAt }, fields }
}

/**
 * Fields that code of the application gives, as if a client had sent them: a copy, with dates as texts and without undefined.
 *
 * @param from names the code, for the error
 * @throws TypeError if they are no object; VALIDATION_ERROR for what a client could not send
 */
export function fieldsFrom(value: unknown, from: string): Fields {
  const text = JSON.stringify(value) as string | undefined
  const fields = text && parseStrictJson(text, { takesRounded: true })
  if (!isObject(fields)) throw new TypeError(`${from} gave no object of fields`)
  return fields
}

/** Joins two JSON objects. Written as one, the keys of the second that are whole numbers would come first. */
export function joinObjects(first: string, second: string): string {
  if (second === '{}') return first
  return first === '{}' ? second : `${first.slice(0, -1)},${second.slice(1)}`
}

/** The `_id` of a document as `writeDocument` wrote it. */
export const idIn = (body: string): string => /^\{"_id":"([^"]*)"/.exec(body)![1]!

/** The JSON of a document that was answered, as it was: see `joinObjects`. */
export const writtenAgain = ({ _id, createdAt, updatedAt, ...fields }: ServiceFields): string =>
  joinObjects(JSON.stringify({ _id, createdAt, updatedAt }), JSON.stringify(fields))

/**
 * The JSON of a document: the service's own fields first.
 *
 * @param at where the fields are in the request
 * @throws validation_error for a field name that begins with `$`; payload_too_large over 1 MiB
 */
export function writeDocument(
  { _id, createdAt, updatedAt }: ServiceFields,
  fields: Fields,
  at = '/body',
): string {
  const others = JSON.stringify(fields)
  const issues = operatorNames(fields, others, at)
  if (issues.length > 0) throw invalid(...issues)
  // None of these holds what JSON would escape.
  const own = `{"_id":"${_id}","createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`
  const text = joinObjects(own, others)
  if (Buffer.byteLength(text) > STORED_BYTES_MAX)
    throw errors.payload_too_large({
      message: `${at === '/body' ? 'The document' : `The document at ${at}`} would be larger than ${LARGEST_BYTES} bytes.`,
    })
  return text
}

/** Field names that begin with `$`, which no document may have at any depth; `text` is the JSON of the fields. */
export const operatorNames = (fields: Fields, text: string, at: string): Issue[] =>
  // Only then can there be one.
  text.includes('"$') ? [...operatorNamesIn(fields, at).take(ISSUES_SHOWN)] : []

const faultOfName = (name: string): string =>
  EXTENDED_JSON.has(name)
    ? `${name} of MongoDB Extended JSON is not read: send plain text or a number`
    : 'a field name must not begin with $'

function* operatorNamesIn(value: unknown, at: string, keys: (string | number)[] = []): Generator<Issue> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    keys.push(key)
    if (typeof key === 'string' && key.startsWith('$'))
      yield { path: boundedPointer(at, keys), message: faultOfName(key) }
    yield* operatorNamesIn(inner, at, keys)
    keys.pop()
  }
}
