import { invalid } from '../../base/errors.ts'

type Json = Record<string, unknown>

/** What the values of a document need of their surroundings. */
export type ValueContext = {
  /** The `_id` of a document here, by its path. */
  readonly idOf: (path: readonly string[]) => string
  /** Changes each text. */
  readonly shown: (text: string) => string
}

/** What kind of form a value has, besides that of JSON. */
type Form = {
  readonly fits: (value: Json) => boolean
  readonly read: (value: Json, context: ValueContext) => unknown
}

const hasOnly =
  (...names: string[]) =>
  (value: Json): boolean =>
    Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name))

const timeOf = (seconds: unknown, nanoseconds: unknown): string => {
  const ms = Math.round(Number(seconds) * 1000) + Math.floor(Number(nanoseconds) / 1e6)
  if (!Number.isSafeInteger(ms) || Math.abs(ms) > 8.64e15)
    throw invalid({ path: '', message: 'has a time that is none' })
  return new Date(ms).toISOString()
}

const placeOf = (latitude: unknown, longitude: unknown) => ({ latitude, longitude })

/** The segments of a path, also of one with the name of the database before it. */
export const segmentsOf = (path: string): string[] =>
  path
    .replace(/^projects\/[^/]+\/databases\/[^/]+\/documents\//, '')
    .split('/')
    .filter((part) => part !== '')

/** https://firebase.google.com/docs/firestore/reference/rest/v1/Value */
const REST: Readonly<Record<string, (value: unknown, context: ValueContext) => unknown>> = {
  nullValue: () => null,
  booleanValue: (value) => value,
  integerValue: (value) => integerOf(String(value)),
  doubleValue: (value) => numberOf(value),
  timestampValue: (value) => timeOf(Date.parse(String(value)) / 1000, 0),
  stringValue: (value, { shown }) => shown(String(value)),
  bytesValue: (value) => value,
  referenceValue: (value, { idOf }) => idOf(segmentsOf(String(value))),
  geoPointValue: (value) => placeOf((value as Json)['latitude'] ?? 0, (value as Json)['longitude'] ?? 0),
  arrayValue: (value, context) =>
    (((value as Json)['values'] ?? []) as Json[]).map((one) => restValueOf(one, context)),
  mapValue: (value, context) => restFieldsOf(((value as Json)['fields'] ?? {}) as Json, context),
}

const DATATYPES: Readonly<Record<string, (value: unknown, context: ValueContext) => unknown>> = {
  timestamp: (value) => timeOf((value as Json)['_seconds'], (value as Json)['_nanoseconds']),
  geopoint: (value) => placeOf((value as Json)['_latitude'], (value as Json)['_longitude']),
  integer: (value) => integerOf(String(value)),
  documentReference: (value, { idOf }) => idOf(segmentsOf(String(value))),
}

// What the libraries of Firestore write as JSON, and what exporting tools make of it.
const FORMS: readonly Form[] = [
  {
    fits: (value) => hasOnly('__datatype__', 'value')(value) && String(value['__datatype__']) in DATATYPES,
    read: ({ __datatype__: type, value }, context) => DATATYPES[String(type)]!(value, context),
  },
  {
    fits: hasOnly('_seconds', '_nanoseconds'),
    read: (value) => timeOf(value['_seconds'], value['_nanoseconds']),
  },
  {
    fits: hasOnly('_latitude', '_longitude'),
    read: (value) => placeOf(value['_latitude'], value['_longitude']),
  },
  {
    fits: (value) => Array.isArray((value['_path'] as Json | undefined)?.['segments']),
    read: (value, { idOf }) => idOf((value['_path'] as { segments: string[] }).segments),
  },
]

/** A value as plain JSON. @throws VALIDATION_ERROR */
export function plainValueOf(value: unknown, context: ValueContext): unknown {
  if (typeof value === 'string') return context.shown(value)
  if (Array.isArray(value)) return value.map((one) => plainValueOf(one, context))
  if (typeof value !== 'object' || value === null) return value
  const form = FORMS.find(({ fits }) => fits(value as Json))
  if (form) return form.read(value as Json, context)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainValueOf(one, context)]))
}

const restFieldsOf = (fields: Json, context: ValueContext): Json =>
  Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, restValueOf(one as Json, context)]))

/** A value as the REST API writes it, as plain JSON. @throws VALIDATION_ERROR */
export function restValueOf(value: Json, context: ValueContext): unknown {
  const [type, content] = Object.entries(value)[0] ?? []
  const read = type === undefined ? undefined : REST[type]
  if (!read) throw invalid({ path: '', message: `has a value of an unknown type: ${String(type)}` })
  return read(content, context)
}

function integerOf(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw invalid({ path: '', message: `has ${text}, which no number of JSON can be` })
  return value
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  throw invalid({ path: '', message: `has ${String(value)}, which no number of JSON can be` })
}
