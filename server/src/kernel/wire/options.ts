import type { TSchema } from 'typebox'

import { didYouMean } from '../../base/did-you-mean.ts'
import type { ApiError, Issue } from '../../base/errors.ts'
import { StartError } from '../../base/start-error.ts'
import { RULE } from '../../base/with-rule.ts'
import { createValidation, type Validate } from '../../http/validation.ts'
import type { Variables } from '../config/config.ts'
import { isPlain } from '../config/fields.ts'
import { schemaAt, setAt, valueAt } from '../config/option-path.ts'
import { readText, textOf } from './option-text.ts'
import type { WireProvider } from './provider-options.ts'
import type { ConfiguredWire } from './wire.ts'

// Compiling takes a tenth of the start: a process that creates several applications does it once.
const compiled = new WeakMap<TSchema, Map<string, Validate>>()

/**
 * The variables of all providers that nothing configures: neither the environment nor the options of their wire. A
 * stand-in may set them.
 */
export const unconfiguredVariables = (
  wires: readonly ConfiguredWire[],
  environment: Variables = {},
): ReadonlySet<string> =>
  new Set(unconfigured(wires, environment).flatMap(({ provider }) => Object.keys(provider.variables)))

/** The same providers by the paths of their options: `pay.stripe`, `onchain.chains.base`. */
export const unconfiguredProviders = (
  wires: readonly ConfiguredWire[],
  environment: Variables = {},
): string[] => unconfigured(wires, environment).map(({ wire, provider }) => `${wire}.${provider.path}`)

const unconfigured = (wires: readonly ConfiguredWire[], environment: Variables) =>
  wires.flatMap(({ name: wire, providers, options }) =>
    providers
      .filter((provider) => !isConfigured(provider, options, environment))
      .map((provider) => ({ wire, provider })),
  )

/** Whether the options of a provider are set, in the configuration or the environment. */
export function isConfigured(provider: WireProvider, options: unknown, environment: Variables): boolean {
  const { variables, sharedWithSandbox } = provider
  const replacements = Object.keys(provider.replacedBy)
  return (
    (replacements.length > 0 && replacements.every((option) => valueAt(options, option) !== undefined)) ||
    Object.entries(variables).some(
      ([name, path]) =>
        !sharedWithSandbox.has(name) && (environment[name] || valueAt(options, path) !== undefined),
    )
  )
}

/**
 * Merges the options of each wire and its environment variables, checks them against its schema, and adds the defaults.
 *
 * @param standIns variables of stand-ins: each is used if its provider is not configured, or if it belongs to no
 *   provider and nothing else sets it
 * @throws StartError with the variable that does not fit, or else the option, from the wire on:
 *   `auth.local.passwordMinLength`
 */
export function checkOptions(
  wires: readonly ConfiguredWire[],
  environment: Variables = {},
  standIns: Variables = {},
): Map<ConfiguredWire, unknown> {
  return new Map(
    wires.map((wire) => {
      const standInPaths = new Set<string>()
      const options = mergedOptions(wire, environment, standIns, standInPaths)
      const schema = wire.optionsSchema
      if (!schema) return [wire, options]
      checkOptionNames(options, schema, wire.name)
      const result = validateBy(schema, options, { standInPaths, trustsDefaults: wire.isBuiltIn === true })(
        options,
      )
      if (!('error' in result)) return [wire, result.value]
      const { path, message } = ((result.error as ApiError).details!['issues'] as [Issue])[0]
      const option = path.replace(/^\/body\/?/, '').replaceAll('/', '.')
      const variable = Object.keys(wire.variables).find(
        (name) => environment[name] && isWithin(option, wire.variables[name]!),
      )
      throw new StartError(`${variable ?? [wire.name, option].filter(Boolean).join('.')}: ${message}`)
    }),
  )
}

type Trusted = {
  /** The dotted paths that stand-ins set. */
  standInPaths: ReadonlySet<string>
  /** Whether a test has checked the defaults of the schema: those of Sixwire's own wires. */
  trustsDefaults: boolean
}

function validateBy(schema: TSchema, options: unknown, trusted: Trusted): Validate {
  const paths: string[] = []
  const needed = neededSchema(schema, options, { path: '', isKnown: false }, { ...trusted, paths })
  if (!needed) return (value) => ({ value })
  const ofSchema = compiled.get(schema) ?? new Map<string, Validate>()
  compiled.set(schema, ofSchema)
  const key = paths.join()
  const validate = ofSchema.get(key) ?? createValidation()('body', needed)
  ofSchema.set(key, validate)
  return validate
}

/** Keywords of an object that ask for nothing but its members, which are checked alone. */
const OF_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'patternProperties',
  'additionalProperties',
  'required',
  'default',
  'title',
  'description',
])

/**
 * Sets the defaults of a value, and returns the schema without what fits: fields that are not given, trusted defaults, and
 * what the stand-ins set. Most applications set few options, and compiling a check takes longer than all else about them.
 *
 * @param context `paths` gets the paths of what remains, with a dot at the end where fields may be missing
 * @returns undefined if all of it fits
 */
function neededSchema(
  schema: TSchema,
  value: unknown,
  { path, isKnown }: { path: string; isKnown: boolean },
  context: Trusted & { paths: string[] },
): TSchema | undefined {
  const alternative = alternativeFor(schema, value)
  const { properties = {}, required = [] } = alternative as {
    properties?: Record<string, TSchema & { default?: unknown }>
    required?: readonly string[]
  }
  const isObject = (alternative as { type?: unknown }).type === 'object' && isPlain(value)
  if (!isObject) {
    if (isKnown) return undefined
    context.paths.push(path)
    return alternative
  }
  const remaining: Record<string, TSchema> = {}
  let fits = !(RULE in alternative) && Object.keys(alternative).every((keyword) => OF_MEMBERS.has(keyword))
  for (const name of new Set([...Object.keys(properties), ...Object.keys(value), ...required])) {
    const one = schemaAt(alternative, name)
    const isMember = Object.hasOwn(properties, name)
    const isDefault = isMember && value[name] === undefined && one !== undefined && 'default' in one
    if (isDefault) value[name] = copyOf(one.default)
    const isMissing = value[name] === undefined
    // Each name stays: which ones an object may have must not depend on the value that is checked first.
    if (isMember) remaining[name] = {}
    if (isMissing && !required.includes(name)) continue
    const inner = path === '' ? name : `${path}.${name}`
    const isTrusted = (isDefault && context.trustsDefaults) || context.standInPaths.has(inner)
    const place = { path: inner, isKnown: isKnown || isTrusted }
    const needed = one && !isMissing ? neededSchema(one, value[name], place, context) : one
    if (needed && isMember) remaining[name] = needed
    if (needed || !one) fits = false
  }
  if (fits) return undefined
  context.paths.push(`${path}.`)
  return { ...alternative, properties: remaining }
}

/**
 * The alternative of a union that is for objects, if the value is one and there is no other. Within a union Ajv sets no
 * defaults (https://ajv.js.org/guide/modifying-data.html#assigning-defaults).
 */
function alternativeFor(schema: TSchema, value: unknown): TSchema {
  const { anyOf = [], ...others } = schema as { anyOf?: readonly (TSchema & { type?: unknown })[] }
  const forObjects = anyOf.filter(({ type }) => type === 'object')
  return isPlain(value) && forObjects.length === 1 ? { ...others, ...forObjects[0] } : schema
}

/**
 * The options of a wire with its variables in them: of the environment first, then the file, then stand-ins.
 *
 * @param standInPaths gets the paths that stand-ins set
 */
function mergedOptions(
  wire: ConfiguredWire,
  environment: Variables,
  standIns: Variables,
  standInPaths: Set<string>,
): unknown {
  const options = copyOf(wire.options)
  if (!isPlain(options)) return options // the schema says what is wrong with it
  const closedPaths = new Set<string>()
  for (const provider of wire.providers) {
    for (const path of replacedPaths(wire, provider, environment)) closedPaths.add(path)
    if (isConfigured(provider, wire.options, environment))
      for (const path of Object.values(provider.variables)) closedPaths.add(path)
  }
  for (const [name, path] of Object.entries(wire.variables)) {
    const isLeft = !closedPaths.has(path) && valueAt(options, path) === undefined
    const text = environment[name] || (isLeft ? standIns[name] : undefined)
    if (!text) continue
    setAt(options, path, readText(schemaAt(wire.optionsSchema, path), text, name))
    if (!environment[name]) standInPaths.add(path)
  }
  return options
}

/**
 * The options of a provider that other options of its wire replace.
 *
 * @throws StartError if one of them is set as well
 */
function replacedPaths(
  { name: wire, options }: ConfiguredWire,
  { variables, replacedBy }: WireProvider,
  environment: Variables,
): string[] {
  return Object.entries(replacedBy)
    .filter(([option]) => valueAt(options, option) !== undefined)
    .flatMap(([option, paths]) => {
      const own = Object.entries(variables).filter(([, path]) => paths.includes(path))
      const names = own.flatMap(([name, path]) => [
        ...(environment[name] ? [name] : []),
        ...(valueAt(options, path) === undefined ? [] : [`${wire}.${path}`]),
      ])
      if (names.length > 0) throw ambiguous(`${wire}.${option}`, names.join(' and '), names.length > 1)
      return paths
    })
}

const ambiguous = (option: string, others: string, arePlural: boolean): StartError =>
  new StartError(
    `${option}: ${others} ${arePlural ? 'are' : 'is'} set as well, and would not be used: remove either ${option} or ${others}`,
  )

const isWithin = (path: string, outer: string): boolean => path === outer || path.startsWith(`${outer}.`)

/** The final text of each variable of the wires, whether the environment, the file or a stand-in sets it. */
export const variablesOf = (options: ReadonlyMap<ConfiguredWire, unknown>): Variables =>
  Object.fromEntries(
    [...options].flatMap(([{ variables }, values]) =>
      Object.entries(variables).map(([name, path]) => [name, textOf(valueAt(values, path))]),
    ),
  )

/** Defaults are written into a copy, in which functions and objects of a class stay the same. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)]))
}

/** Refuses an option that its schema does not have: a misspelt one would be ignored. */
function checkOptionNames(value: unknown, schema: TSchema, path: string): void {
  const alternative = alternativeFor(schema, value)
  const {
    properties = {},
    additionalProperties,
    patternProperties,
    items,
  } = alternative as {
    properties?: Record<string, TSchema>
    additionalProperties?: unknown
    patternProperties?: unknown
    items?: TSchema
  }
  if (Array.isArray(value) && items)
    for (const [i, one] of value.entries()) checkOptionNames(one, items, `${path}[${i}]`)
  const isMap = patternProperties !== undefined || (additionalProperties ?? false) !== false
  if (!isPlain(value) || (!isMap && Object.keys(properties).length === 0)) return
  for (const [name, one] of Object.entries(value)) {
    const option = schemaAt(alternative, name)
    if (option) checkOptionNames(one, option, `${path}.${name}`)
    else if (!isMap)
      throw new StartError(
        `${path}.${name}: there is no such option${didYouMean(name, Object.keys(properties))}`,
      )
  }
}
