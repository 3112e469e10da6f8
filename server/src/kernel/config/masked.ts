import { isDeepStrictEqual } from 'node:util'

import type { TSchema } from 'typebox'

import { isPlain } from './fields.ts'
import { schemaAt } from './option-path.ts'

export const MASK = '***'

/** Marks texts that everybody gets, such as those of mails: whatever they look like, they hold no secret. */
const OPEN_TEXT = Symbol('openText')

/** A schema of texts that are never masked. */
export const openText = <S extends TSchema>(schema: S): S =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(schema), [OPEN_TEXT]: { value: true } },
  ) as S

/** Whether values of a schema may hold whatever looks like a secret, or like its mask. */
export const isOpenText = (schema: TSchema | undefined): boolean =>
  schema !== undefined && OPEN_TEXT in schema

// Anywhere in a name, plurals included. More is masked rather than less.
const SECRET_NAME = /secret|pass|pwd|token|mnemonic|credential|private|key|seed|auth(?!ors?$)|cookie|jwt/i

/** Whether a name is likely to be that of a secret. */
export const soundsLikeSecret = (name: string): boolean => SECRET_NAME.test(name)

/**
 * Options of Sixwire's own wires whose names sound like a secret's, and hold none; `*` is a name that the configuration
 * chooses.
 */
const HARMLESS = [
  'auth.idpb.authorizeUrl',
  'auth.idpb.tokenUrl',
  'auth.passkeys',
  'auth.providers.*',
  'auth.providers.*.authority',
  'auth.providers.*.keyId',
  'messaging.texts.*',
  'onchain.chains.*',
  'onchain.chains.*.tokens',
  'onchain.chains.*.tokens.*',
  'onchain.keys',
  'store.collections.*',
  'store.indexes.*',
  'store.s3.accessKeyId',
].map((path) => path.split('.'))

/** Where a value is, and what is known of it. */
export type SettingPlace = {
  /** The names of the option from the outermost one on. */
  readonly path: readonly string[]
  readonly isSecret: boolean
  readonly schema: TSchema | undefined
  /** Whether texts may be shown. Those of an application's own wire may be anything. */
  readonly isOpen: boolean
}

/** The place of a setting, or of all options of a wire. A wire's name says nothing about them. */
export const placeOf = (
  path: readonly string[],
  {
    schema,
    isOpen = true,
    isWire = false,
  }: Partial<Pick<SettingPlace, 'schema' | 'isOpen'>> & { isWire?: boolean } = {},
): SettingPlace => ({ path, isSecret: !isWire && soundsSecret(path), schema, isOpen })

function soundsSecret(path: readonly string[]): boolean {
  const isHarmless = (pattern: readonly string[]): boolean =>
    pattern.length === path.length && pattern.every((step, at) => step === '*' || step === path[at])
  return SECRET_NAME.test(path.at(-1) ?? '') && !HARMLESS.some(isHarmless)
}

/**
 * The members of an object with their places; undefined if they can't be told apart: it is none, it is secret as a whole,
 * or the application chose their names, which may be secrets as well.
 */
export function membersOf(
  value: unknown,
  place: SettingPlace,
): [name: string, one: unknown, at: SettingPlace][] | undefined {
  if (place.isSecret || !isPlain(value)) return undefined
  const entries = Object.entries(value)
  if (entries.some(([, one]) => typeof one === 'function')) return undefined
  const isOpen = isOpenFor(value, place)
  const objects = alternatives(place.schema)
  const isKnown = (name: string): boolean =>
    objects.some(({ properties = {} }) => Object.hasOwn(properties, name))
  if (!isOpen && !entries.every(([name]) => isKnown(name))) return undefined
  return entries.map(([name, one]) => {
    const path = [...place.path, name]
    const schema = objects.map((object) => schemaAt(object, name)).find((found) => found !== undefined)
    return [name, one, { path, isSecret: soundsSecret(path), schema, isOpen }]
  })
}

/**
 * A value of a setting as an operator may see it: nothing that opens anything is left in it. Numbers, switches, and the
 * values that a schema lists are always shown; of an application's own wire no other text than a default.
 */
export function masked(value: unknown, place: SettingPlace): unknown {
  if (value === undefined || value === null || value === '') return value
  if (typeof value === 'boolean' || typeof value === 'number') return value
  if (isListed(value, place.schema) || isOpenText(place.schema)) return value
  if (place.isSecret) return MASK
  const isOpen = isOpenFor(value, place)
  if (typeof value === 'string') return isOpen ? maskedText(value) : MASK
  if (Array.isArray(value)) {
    const schema = alternatives(place.schema).find(({ items }) => items !== undefined)?.items
    return value.map((one) => masked(one, { ...place, schema, isOpen }))
  }
  const members = membersOf(value, place)
  if (members) return Object.fromEntries(members.map(([name, one, at]) => [name, masked(one, at)]))
  if (isPlain(value) && Object.values(value).every((one) => typeof one !== 'function')) return MASK
  // A provider that the application made: its fields may be anything.
  const { name } = value as { name?: unknown }
  return isOpen && typeof name === 'string' && typeof value === 'object' ? `[${maskedText(name)}]` : '[set]'
}

type Alternative = TSchema & {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

const alternatives = (schema: TSchema | undefined): readonly Alternative[] =>
  schema === undefined ? [] : ((schema as { anyOf?: readonly Alternative[] }).anyOf ?? [schema])

const isListed = (value: unknown, schema: TSchema | undefined): boolean =>
  alternatives(schema).some((one) => one.const === value || one.enum?.includes(value))

const isOpenFor = (value: unknown, { isOpen, schema }: SettingPlace): boolean =>
  isOpen || (schema !== undefined && 'default' in schema && isDeepStrictEqual(value, schema.default))

const SECRET_VALUE = /^(sk|rk|pk|whsec|ghp|xox[a-z])[_-]|^AKIA|^eyJ|^(Bearer|Basic)\s|-----BEGIN /i
const ADDRESS = /^([a-z][a-z\d+.-]*:\/\/)(.*)$/is
const AFTER_HOST = /^([^/?#]*)([^?#]*)(.*)$/s
// `Server=…;Password=…`
const NAME_AND_VALUE = /([\w.-]+)\s*[=:]\s*(?=\S)/g
const OPEN_PARAMETERS = new Set(['sslmode', 'ssl', 'host', 'port', 'application_name'])
// Nodes of chains and webhooks have their keys in the path, short ones too: only words and versions are none.
const OPEN_SEGMENT = /^(v\d{1,2}|(?=.{0,19}$)[a-z]+([._-][a-z]+)*|\.{0,2})$/

function maskedText(text: string): string {
  if (SECRET_VALUE.test(text)) return MASK
  if (/^(sqlite|file):/.test(text)) return text
  const [, scheme, rest] = ADDRESS.exec(text) ?? []
  if (scheme !== undefined && rest !== undefined) return `${scheme}${maskedAddress(scheme, rest)}`
  if (text.includes('://')) return MASK
  for (const pair of text.matchAll(NAME_AND_VALUE))
    // To the end: a value in quotes may hold the separator.
    if (SECRET_NAME.test(pair[1]!)) return `${text.slice(0, pair.index + pair[0].length)}${MASK}`
  return text.replace(/^.*:.*@/s, `${MASK}@`)
}

/** An address without its scheme. Nobody can tell whether an @ behind a ? or # ends a password, or is in a parameter. */
function maskedAddress(scheme: string, address: string): string {
  const end = address.lastIndexOf('@')
  if (/[?#]/.test(address.slice(0, Math.max(end, 0)))) return MASK
  const [, host = '', path = '', parameters = ''] = AFTER_HOST.exec(address.slice(end + 1)) ?? []
  const isDatabase = /^postgres(ql)?:/i.test(scheme)
  return [
    end < 0 ? '' : `${MASK}@`,
    host,
    isDatabase ? path : path.replaceAll(/[^/]+/g, (segment) => (OPEN_SEGMENT.test(segment) ? segment : MASK)),
    parameters.replaceAll(/[^?&;#]+/g, (parameter) => {
      const [, name] = /^([^=]+)=/.exec(parameter) ?? []
      if (name === undefined) return MASK
      return OPEN_PARAMETERS.has(name) ? parameter : `${name}=${MASK}`
    }),
  ].join('')
}
