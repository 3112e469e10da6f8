import { isObject, type JsonObject } from '../query/filter.ts'
import { FORMATS } from './formats.ts'
import { patternFault } from './schema-patterns.ts'
import { targetOf } from './schema-references.ts'

/** What a keyword holds, and where schemas are in it. */
export type Keyword = {
  /** Why the value cannot be one of the keyword: a sentence about it. */
  readonly faultOf: (value: unknown, schema: JsonObject) => string | undefined
  /** The schemas in a value without fault, by the keys that lead to them: none if the value itself is the schema. */
  readonly schemasIn?: (
    value: unknown,
  ) => Iterable<readonly [key: string | number | undefined, schema: unknown]>
  /** Whether these schemas are asked of the same value as the one that they stand in. */
  readonly isInPlace?: boolean
}

const any: Keyword = { faultOf: () => undefined }

const checked = (passes: (value: unknown) => boolean, wanted: string): Keyword => ({
  faultOf: (value) => (passes(value) ? undefined : `give ${wanted}`),
})

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
const isListOf = (value: unknown, passes: (one: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(passes) && new Set(value).size === value.length
const isText = (value: unknown): value is string => typeof value === 'string'
const isType = (value: unknown): boolean => isText(value) && TYPES.includes(value)
const isNames = (value: unknown): boolean => isListOf(value, isText)

const text = checked(isText, 'text')
const flag = checked((value) => typeof value === 'boolean', 'true or false')
const number = checked((value) => typeof value === 'number', 'a number')
const count = checked(
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'a whole number that is not negative',
)
const names = checked(isNames, 'an array of names, each of them once')

/** A keyword that does nothing without another one. */
const beside = (keyword: Keyword, other: string): Keyword => ({
  ...keyword,
  faultOf: (value, schema) =>
    Object.hasOwn(schema, other) ? keyword.faultOf(value, schema) : `does nothing without "${other}"`,
})

const subschema: Keyword = {
  faultOf: (value) =>
    Array.isArray(value) ? 'give one schema; those of a tuple are "prefixItems"' : undefined,
  schemasIn: (value) => [[undefined, value]],
}

const subschemas: Keyword = {
  faultOf: (value) =>
    Array.isArray(value) && value.length > 0 ? undefined : 'give an array of at least one schema',
  schemasIn: (value) => (value as unknown[]).entries(),
}

const namedSchemas: Keyword = {
  faultOf: (value) => (isObject(value) ? undefined : 'give an object of schemas'),
  schemasIn: (value) => Object.entries(value as JsonObject),
}

const inPlace = (keyword: Keyword): Keyword => ({ ...keyword, isInPlace: true })

const pattern = (value: string): string | undefined => {
  const fault = patternFault(value)
  return fault && `${JSON.stringify(value)}: ${fault}`
}

/** A keyword that is known, and refused with what to write instead. */
const unsupported = (fault: string): Keyword => ({ faultOf: () => fault })

/**
 * The keywords of JSON Schema 2020-12, without those that name schemas of other documents and dynamic references.
 * https://json-schema.org/draft/2020-12/schema
 */
export const KEYWORDS: Readonly<Record<string, Keyword>> = {
  $schema: {
    faultOf: (value) =>
      /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String(value))
        ? undefined
        : 'schemas are of JSON Schema 2020-12: https://json-schema.org/draft/2020-12/schema',
  },
  $comment: text,
  $defs: namedSchemas,
  definitions: namedSchemas,
  $ref: checked(
    (value) => targetOf(value) !== undefined,
    'a reference into this schema, like "#/$defs/Address"',
  ),

  allOf: inPlace(subschemas),
  anyOf: inPlace(subschemas),
  oneOf: inPlace(subschemas),
  not: inPlace(subschema),
  if: inPlace({
    ...subschema,
    faultOf: (_value, schema) =>
      Object.hasOwn(schema, 'then') || Object.hasOwn(schema, 'else')
        ? undefined
        : 'does nothing without "then" or "else"',
  }),
  // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema; nothing awaits it
  then: inPlace(beside(subschema, 'if')),
  else: inPlace(beside(subschema, 'if')),
  dependentSchemas: inPlace(namedSchemas),
  prefixItems: subschemas,
  items: subschema,
  contains: subschema,
  additionalItems: unsupported('is of an older version: a tuple has "prefixItems", and "items": false'),
  // Beside `oneOf` with `$ref`, or `contains`, Ajv answers wrongly: https://github.com/ajv-validator/ajv/issues/2559.
  unevaluatedItems: unsupported('is not supported: write "items" for all that is allowed'),
  properties: namedSchemas,
  patternProperties: {
    ...namedSchemas,
    faultOf: (value) =>
      isObject(value)
        ? Object.keys(value)
            .map(pattern)
            .find((fault) => fault !== undefined)
        : 'give an object of patterns and schemas',
  },
  additionalProperties: subschema,
  propertyNames: subschema,
  unevaluatedProperties: unsupported(
    'is not supported: write "additionalProperties" beside all that is allowed',
  ),

  type: checked(
    (value) => isType(value) || (isListOf(value, isType) && value.length > 0),
    `one of ${TYPES.join(', ')}, or an array of them`,
  ),
  const: any,
  enum: checked((value) => Array.isArray(value) && value.length > 0, 'an array of at least one value'),
  multipleOf: checked((value) => typeof value === 'number' && value > 0, 'a number above 0'),
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern: { faultOf: (value) => (isText(value) ? pattern(value) : 'give a regular expression') },
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  maxContains: beside(count, 'contains'),
  minContains: beside(count, 'contains'),
  maxProperties: count,
  minProperties: count,
  required: names,
  dependentRequired: checked(
    (value) => isObject(value) && Object.values(value).every(isNames),
    'an object of arrays of names',
  ),
  format: checked(
    (value) => isText(value) && Object.hasOwn(FORMATS, value),
    `one of the formats ${Object.keys(FORMATS).join(', ')}, or leave it out`,
  ),

  contentEncoding: text,
  contentMediaType: text,
  title: text,
  description: text,
  default: any,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  examples: checked(Array.isArray, 'an array'),
}
