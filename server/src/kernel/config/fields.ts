import { didYouMean } from '../../base/did-you-mean.ts'
import { oneLine } from '../../base/one-line.ts'
import { StartError } from '../../base/start-error.ts'

const SHOWN_CHARACTERS = 80

/** What a field of an object accepts, in words, and the check of a value. An optional field accepts undefined. */
export type Field = {
  readonly takes: string
  readonly fits: (value: unknown) => boolean
  /** The values, if the field accepts one of a few. */
  readonly choices?: readonly string[]
}

/** Whether a value is an object literal, not an instance of a class. */
export const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** Whether all elements of an array, or all values of an object literal, fit. */
export const isEach = (value: unknown, fits: (one: unknown) => boolean): boolean =>
  (Array.isArray(value) || isPlain(value)) && Object.values(value).every(fits)

export const optional = (field: Field): Field => ({
  ...field,
  fits: (value) => value === undefined || field.fits(value),
})

export const TEXT: Field = { takes: 'a text', fits: isText }
export const SWITCH: Field = { takes: 'true or false', fits: (value) => typeof value === 'boolean' }
export const FUNCTION: Field = { takes: 'a function', fits: (value) => typeof value === 'function' }
export const ANYTHING: Field = { takes: 'anything', fits: () => true }

export const oneOf = (choices: readonly string[]): Field => ({
  takes: `one of ${choices.join(', ')}`,
  fits: (value) => (choices as readonly unknown[]).includes(value),
  choices,
})

/**
 * Checks an object of an application as the compiler would: it may be written in plain JavaScript, where a misspelt field
 * would be ignored.
 *
 * @param where the beginning of the error line: the object's place
 * @throws StartError with the first field that does not exist, is missing or does not fit
 */
export function checkFields(where: string, value: object, fields: Readonly<Record<string, Field>>): void {
  const names = Object.keys(fields)
  const unknown = Object.keys(value).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new StartError(`${where}: there is no field "${unknown}"${didYouMean(unknown, names)}`)
  for (const [name, { takes, fits, choices = [] }] of Object.entries(fields)) {
    const member: unknown = (value as Record<string, unknown>)[name]
    if (fits(member)) continue
    const fault = member === undefined ? 'is missing' : `can't be ${shown(member)}`
    const meant = typeof member === 'string' ? didYouMean(member, choices) : ''
    throw new StartError(`${where}: ${name} ${fault}: it takes ${takes}${meant}`)
  }
}

/** A value in a few words; an object could be long, or contain a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(oneLine(value, SHOWN_CHARACTERS))
  if (value instanceof URL) return value.href
  if (Array.isArray(value)) return 'this list'
  if (typeof value === 'object' && value !== null) return 'this object'
  return typeof value === 'function' ? 'a function' : String(value)
}

const KEYWORDS = new Set(
  (
    '$id $ref $comment title description default examples deprecated readOnly writeOnly type const enum not items ' +
    'properties patternProperties additionalProperties anyOf allOf oneOf if format pattern required minLength maxLength ' +
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems contains prefixItems ' +
    'contentMediaType'
  ).split(' '),
)

/** Whether a value may be a JSON schema. Properties without their `Type.Object({ … })` are not. */
export function isSchema(value: unknown): boolean {
  if (!isPlain(value)) return false
  const names = Object.keys(value)
  return names.length === 0 || names.some((name) => KEYWORDS.has(name) || name.startsWith('x-'))
}
