import type { TSchema } from 'typebox'

import { isPlain } from '../config/fields.ts'
import { list, settingError } from '../config/setting-parsers.ts'

type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
}

/**
 * Reads the text of an environment variable as the schema of its option wants it: an integer, a number, a boolean as
 * `on` or `off`, a list as `a,b`, a record as `NAME=a,OTHER=b`, and everything else as the text itself.
 *
 * @param variable for the error
 * @throws StartError if the text is not of the schema's type; other rules of the schema are not checked here
 */
export function readText(schema: TSchema | undefined, text: string, variable: string): unknown {
  if (schema === undefined) return text
  const value = valueOf(schema, text)
  if (value === undefined) throw settingError(variable, `write ${FORMS[formOf(schema)]}`)
  return value
}

/** What an environment variable would hold for a value of an option; undefined for a value that none can hold. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  const texts = Array.isArray(value)
    ? value.map(textOf)
    : isPlain(value)
      ? Object.entries(value).map(([name, one]) => `${name}=${textOf(one)}`)
      : [undefined]
  return texts.includes(undefined) ? undefined : texts.join(',')
}

type Form = 'integer' | 'number' | 'boolean' | 'array' | 'record' | 'text'

const FORMS: Readonly<Record<Form, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'on or off',
  array: 'a list joined by commas',
  record: 'a list like NAME=value,OTHER=value',
  text: 'a text',
}

const valueSchemaOf = ({ patternProperties, additionalProperties }: Schema): Schema | undefined =>
  Object.values(patternProperties ?? {})[0] ??
  (typeof additionalProperties === 'object' ? additionalProperties : undefined)

function formOf(schema: Schema): Form {
  const { type } = schema
  if (type === 'integer' || type === 'number' || type === 'boolean' || type === 'array') return type
  return type === 'object' && valueSchemaOf(schema) !== undefined ? 'record' : 'text'
}

const INTEGER = /^[+-]?\d+$/
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const SWITCHES = new Map([
  ['on', true],
  ['off', false],
])

/** Undefined if the text is not of the schema's type. */
function valueOf(schema: Schema, text: string): unknown {
  // The first alternative that fits; if none does, the check of all options says what would.
  if (schema.anyOf)
    return schema.anyOf.map((one) => valueOf(one, text)).find((one) => one !== undefined) ?? text
  const value = READERS[formOf(schema)](text, schema)
  return schema.const === undefined || schema.const === value ? value : undefined
}

const READERS: Readonly<Record<Form, (text: string, schema: Schema) => unknown>> = {
  text: (text) => text,
  integer: (text) => (INTEGER.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined),
  number: (text) => (DECIMAL.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined),
  boolean: (text) => SWITCHES.get(text),
  array(text, { items = {} }) {
    const values = list(text).map((one) => valueOf(items, one))
    return values.includes(undefined) ? undefined : values
  },
  record(text, schema) {
    const values = list(text).map((one) => {
      const [, name = '', value] = /^([^=]*)=(.*)$/s.exec(one) ?? []
      return [
        name.trim(),
        value === undefined ? undefined : valueOf(valueSchemaOf(schema)!, value.trim()),
      ] as const
    })
    const names = new Set(values.map(([name]) => name))
    const isWhole =
      !names.has('') && names.size === values.length && values.every(([, one]) => one !== undefined)
    return isWhole ? Object.fromEntries(values) : undefined
  },
}
