import type { SampleValue } from './call.ts'

/** A JSON schema. */
export type ExampleSchema = Readonly<Record<string, unknown>>

const FIELDS_MAX = 12
const DEPTH_MAX = 6
/** Schemas that are looked at for one example: those that refer to themselves have no end. */
const SCHEMAS_MAX = 2_000
/** Characters of a list as JSON. */
const LIST_MAX = 5_000
/** Longer texts are not compared with a pattern, which may take a time that doubles with each character. */
const MATCHED_MAX = 16

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2027-01-31T12:00:00Z',
  date: '2027-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  email: 'ada@example.com',
  'idn-email': 'ada@example.com',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  iri: 'https://example.com/',
  'uri-reference': '/a',
  'iri-reference': '/a',
  'uri-template': '/a/{id}',
  uuid: '6f1c2b9e-5d1f-4c62-9a5e-0d5f3f0e7a11',
  'json-pointer': '/a',
  'relative-json-pointer': '0',
  regex: '^a$',
}

/** What is plausible by the name of the field, if its schema allows it. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/e-?mail$/i, 'ada@example.com'],
  [/(?:url|website|link|homepage)$/i, 'https://example.com/'],
  [/phone|mobile/i, '+4915112345678'],
  [/title|subject|headline/i, 'A title'],
  [/slug/i, 'a-title'],
  [/name$/i, 'Ada Lovelace'],
  [/currency/i, 'EUR'],
  [/country/i, 'DE'],
  [/city/i, 'Berlin'],
  [/colou?r/i, '#0f6a5b'],
  [/language|locale/i, 'en'],
  [/text|body|description|comment|note|message|content|summary/i, 'A text of several words.'],
]

const NUMBERS: readonly (readonly [RegExp, number])[] = [
  [/year/i, 2027],
  [/price|amount|cost|total/i, 10],
]

/** What a pattern may match: the words of the field come first. */
const GUESSES = [
  'a',
  'A',
  'abc',
  'ABC',
  '1',
  '123',
  'a-1',
  'A-1',
  'ABC-123',
  'AB',
  '#0f6a5b',
  '2027-01-31',
  '12345',
]

/**
 * A value that fits a schema, as far as can be told: its default or first example, or what its type, enum, format, bounds and
 * the name of the field suggest. Of an object first what is required, then other fields.
 *
 * @param values those of some fields, by their paths: ids of documents that exist; undefined leaves a field out
 * @param root what has the schemas that it refers to
 * @returns undefined if none is found
 */
export const exampleValue = (
  schema: ExampleSchema,
  values: Readonly<Record<string, SampleValue | undefined>> = {},
  root: ExampleSchema = schema,
): SampleValue | undefined => valueOf({ root, values, left: SCHEMAS_MAX }, schema, '', 0)

type Reading = {
  readonly root: ExampleSchema
  readonly values: Readonly<Record<string, SampleValue | undefined>>
  /** How many schemas are still looked at. */
  left: number
}

function valueOf(reading: Reading, given: unknown, path: string, depth: number): SampleValue | undefined {
  if (given === true) return 'text'
  if (typeof given !== 'object' || given === null || depth > DEPTH_MAX || reading.left-- <= 0)
    return undefined
  const schema = merged(reading, given as ExampleSchema)
  const { values } = reading
  if (Object.hasOwn(values, path)) {
    const value = values[path]
    return value !== undefined && isList(schema) ? [value] : value
  }
  const own =
    (schema['examples'] as readonly SampleValue[] | undefined)?.[0] ??
    (schema['default'] as SampleValue | undefined)
  if (own !== undefined) return own
  if (Object.hasOwn(schema, 'const')) return schema['const'] as SampleValue
  const choices = schema['enum'] as readonly SampleValue[] | undefined
  if (choices) return choices[0]
  switch (typeOf(schema)) {
    case 'string':
      return textOf(schema, path)
    case 'integer':
    case 'number':
      return numberOf(schema, path)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return listOf(reading, schema, path, depth)
    default:
      return objectOf(reading, schema, path, depth)
  }
}

/** A schema with what it refers to, all of allOf, and the first alternative of anyOf or oneOf that is not null. */
function merged(reading: Reading, schema: ExampleSchema, depth = 0): ExampleSchema {
  const {
    $ref,
    allOf = [],
    anyOf,
    oneOf,
    ...own
  } = schema as {
    $ref?: string
    allOf?: readonly ExampleSchema[]
    anyOf?: readonly ExampleSchema[]
    oneOf?: readonly ExampleSchema[]
  } & ExampleSchema
  const alternatives = anyOf ?? oneOf
  const parts = [
    ...($ref === undefined ? [] : [referred(reading.root, $ref)]),
    ...allOf,
    ...(alternatives ? [alternatives.find(({ type }) => type !== 'null') ?? alternatives[0]!] : []),
  ]
  if (parts.length === 0 || depth > DEPTH_MAX || reading.left-- <= 0) return own
  return [...parts.map((one) => merged(reading, one, depth + 1)), own].reduce((all, one) => ({
    ...all,
    ...one,
    ...(all['properties'] && one['properties']
      ? { properties: { ...all['properties'], ...one['properties'] } }
      : {}),
    ...(all['required'] && one['required']
      ? { required: [...(all['required'] as string[]), ...(one['required'] as string[])] }
      : {}),
  }))
}

function referred(root: ExampleSchema, reference: string): ExampleSchema {
  const names = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  let found: unknown = root
  for (const name of names)
    found = (found as ExampleSchema | undefined)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')]
  return typeof found === 'object' && found !== null ? (found as ExampleSchema) : {}
}

function typeOf(schema: ExampleSchema): string {
  const { type } = schema
  if (Array.isArray(type)) return (type as string[]).find((one) => one !== 'null') ?? 'null'
  if (typeof type === 'string') return type
  if (schema['items'] !== undefined) return 'array'
  if (['minimum', 'maximum', 'multipleOf'].some((name) => name in schema)) return 'number'
  if (['minLength', 'maxLength', 'pattern', 'format'].some((name) => name in schema)) return 'string'
  return schema['properties'] ? 'object' : 'string'
}

const isList = (schema: ExampleSchema): boolean => typeOf(schema) === 'array'

const lastName = (path: string): string => path.split('.').at(-1) ?? ''

/** `releaseYear` → `release year` */
const wordsOf = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim()
    .toLowerCase()

function textOf(schema: ExampleSchema, path: string): string | undefined {
  const {
    format,
    pattern,
    minLength = 0,
    maxLength = Infinity,
  } = schema as {
    format?: string
    pattern?: string
    minLength?: number
    maxLength?: number
  }
  const name = lastName(path)
  const words = wordsOf(name) || 'text'
  const byFormat = format === undefined ? undefined : FORMATS[format]
  const candidates = [
    ...(byFormat === undefined ? [] : [byFormat]),
    ...(byFormat === undefined ? NAMES.filter(([known]) => known.test(name)).map(([, value]) => value) : []),
    words.charAt(0).toUpperCase() + words.slice(1),
    ...GUESSES,
  ]
  const fitted =
    byFormat === undefined ? candidates.flatMap((one) => [one, sized(one, minLength, maxLength)]) : candidates
  const expression = pattern === undefined ? undefined : expressionOf(pattern)
  return fitted.find(
    (one) =>
      one.length >= minLength &&
      one.length <= maxLength &&
      (!expression || (one.length <= MATCHED_MAX && expression.test(one))),
  )
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
}

/** A text that is made as short or as long as it has to be, within reason. */
const sized = (text: string, least: number, most: number): string =>
  (least > 1000 ? text : text.padEnd(least, text || 'a')).slice(0, most)

function numberOf(schema: ExampleSchema, path: string): number | undefined {
  const bounds = schema as {
    minimum?: number
    maximum?: number
    exclusiveMinimum?: number
    exclusiveMaximum?: number
    multipleOf?: number
  }
  const isWhole = typeOf(schema) === 'integer'
  const step = bounds.multipleOf ?? (isWhole ? 1 : 0)
  const { exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity } = bounds
  const least = Math.max(bounds.minimum ?? -Infinity, above)
  const most = Math.min(bounds.maximum ?? Infinity, below)
  const isFit = (value: number): boolean =>
    Number.isFinite(value) && value >= least && value <= most && value > above && value < below
  const whole = (value: number): number => (step > 0 ? Math.ceil(value / step) * step : value)
  const down = (value: number): number => (step > 0 ? Math.floor(value / step) * step : value)
  const byName = NUMBERS.filter(([known]) => known.test(lastName(path))).map(([, value]) => value)
  return [
    ...byName,
    1,
    10,
    whole(least),
    whole(least) + (step || 1),
    (least + most) / 2,
    down(most),
    down(most) - (step || 1),
    0,
  ]
    .map((value) => (step > 0 ? whole(value) : value))
    .find(isFit)
}

function listOf(
  reading: Reading,
  schema: ExampleSchema,
  path: string,
  depth: number,
): SampleValue | undefined {
  const {
    items = true,
    prefixItems,
    minItems = 0,
    maxItems = Infinity,
    uniqueItems,
  } = schema as {
    items?: unknown
    prefixItems?: readonly unknown[]
    minItems?: number
    maxItems?: number
    uniqueItems?: boolean
  }
  if (prefixItems) {
    const values = prefixItems.map((one) => valueOf(reading, one, path, depth + 1))
    return values.includes(undefined) ? undefined : (values as SampleValue[])
  }
  if (maxItems === 0) return []
  const item = valueOf(reading, items, path, depth + 1)
  if (item === undefined) return minItems === 0 ? [] : undefined
  const count = Math.max(1, minItems)
  if (count * JSON.stringify(item).length > LIST_MAX) return undefined
  if (count === 1 || !uniqueItems) return Array.from({ length: count }, () => item)
  const choices =
    (merged(reading, items as ExampleSchema)['enum'] as readonly SampleValue[] | undefined) ?? []
  const others = Array.from({ length: count }, (_, at): SampleValue | undefined =>
    choices.length > 0
      ? choices[at]
      : typeof item === 'number'
        ? item + at
        : typeof item === 'string'
          ? at === 0
            ? item
            : `${item} ${at + 1}`
          : undefined,
  )
  return others.includes(undefined) ? undefined : (others as SampleValue[])
}

function objectOf(
  reading: Reading,
  schema: ExampleSchema,
  path: string,
  depth: number,
): SampleValue | undefined {
  const { properties = {}, required = [] } = schema as {
    properties?: Readonly<Record<string, unknown>>
    required?: readonly string[]
  }
  const needed = new Set(required)
  const optional = Object.keys(properties).filter((name) => !needed.has(name))
  const names = [...needed, ...(depth === 0 ? optional : [])]
  const fields: [string, SampleValue][] = []
  for (const name of names) {
    const isRequired = needed.has(name)
    if (reading.left <= 0 || (!isRequired && fields.length >= FIELDS_MAX)) break
    const own = Object.hasOwn(properties, name) ? properties[name] : true
    const value = valueOf(reading, own, path ? `${path}.${name}` : name, depth + 1)
    if (value !== undefined) fields.push([name, value])
    else if (isRequired && !Object.hasOwn(reading.values, path ? `${path}.${name}` : name)) return undefined
  }
  return Object.fromEntries(fields)
}

const TEXT_MAX = 80
const ITEMS_MAX = 3

/** The fields of a document, short enough to be an example. */
export function shortened(value: SampleValue, depth = 0): SampleValue {
  if (typeof value === 'string')
    return value.length > TEXT_MAX ? value.slice(0, TEXT_MAX).toWellFormed() : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return depth > 3 ? [] : value.slice(0, ITEMS_MAX).map((one: SampleValue) => shortened(one, depth + 1))
  return Object.fromEntries(
    Object.entries(value as Record<string, SampleValue>)
      .slice(0, depth > 3 ? 0 : FIELDS_MAX)
      .map(([name, one]) => [name, shortened(one, depth + 1)]),
  )
}
