import type { TSchema } from 'typebox'

import { didYouMean } from '../base/did-you-mean.ts'
import type { ApiError, Issue } from '../base/errors.ts'
import { StartError } from '../base/start-error.ts'
import { isPlain } from './fields.ts'
import { createValidation } from '../http/validation.ts'
import type { ConfiguredWire } from './wire.ts'

// Every wire is handed these under their names, beside the wires that it needs under theirs. The last two have tables.
const TAKEN = new Set(['db', 'clock', 'jobs', 'log', 'settings', 'policy', 'server', 'sixwire', 'sandbox'])

/** Says of an application's own wires what the compiler would, to one that is written in plain JavaScript. */
export function checkWires(wires: unknown): void {
  if (!Array.isArray(wires)) throw new StartError('wires: write a list, like [loyalty()]')
  for (const wire of wires as readonly unknown[]) {
    if (typeof wire === 'function')
      throw new StartError('wires: one of them lacks its parentheses: write loyalty(), not loyalty')
    const { name, setup, needs, variables } = (wire ?? {}) as Partial<ConfiguredWire>
    if (typeof name !== 'string' || typeof setup !== 'function' || !needs || !variables)
      throw new StartError('wires: one of them is not made by defineWire')
    if (!/^[a-z][a-z\d-]*$/.test(name) || TAKEN.has(name))
      throw new StartError(
        `wires: "${name}" can't be a name: it takes small letters, digits and hyphens, and is none of ${[...TAKEN].join(', ')}`,
      )
  }
}

/** Puts the wires before those that build on them. */
export function orderWires(wires: readonly ConfiguredWire[]): ConfiguredWire[] {
  const byName = new Map(wires.map((wire) => [wire.name, wire]))
  if (byName.size < wires.length) {
    const twice = wires.find((wire) => byName.get(wire.name) !== wire)!
    throw new StartError(`wires: two wires are called "${twice.name}"`)
  }
  const ordered = new Set<ConfiguredWire>()
  const visit = (wire: ConfiguredWire, path: readonly string[]): void => {
    if (path.includes(wire.name)) throw new StartError(`wires: ${[...path, wire.name].join(' needs ')}`)
    for (const { wireName, isOptional } of wire.needs) {
      const needed = byName.get(wireName)
      if (needed) visit(needed, [...path, wire.name])
      else if (!isOptional)
        throw new StartError(
          `SIXWIRE_WIRES: ${wire.name} needs ${wireName}, which is not loaded${didYouMean(wireName, byName.keys()) || ': add it'}`,
        )
    }
    ordered.add(wire)
  }
  for (const wire of wires) visit(wire, [])
  return [...ordered]
}

/** Values of environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>

/**
 * Puts a wire's variables into its options. A provider of which neither the environment nor the configuration says
 * which it is, is stood in for, where there is somebody who does.
 */
function withVariables(
  { name: wire, variables, appearance, insteadOf, options }: ConfiguredWire,
  environment: Variables,
  standIns: Variables,
): unknown {
  const filled = copied(options)
  if (!isPlain(filled)) return filled // the schema says what is wrong with it
  const replaced = Object.entries(insteadOf).filter(([option]) => filled[option] !== undefined)
  for (const [option, path] of replaced) {
    const twice = Object.keys(variables).filter(
      (name) => environment[name] && isWithin(variables[name]!, path),
    )
    if (valueAt(filled, path.split('.')) !== undefined) twice.push(`${wire}.${path}`)
    if (twice.length > 0) throw saidTwice(`${wire}.${option}`, twice)
  }
  const groups = Map.groupBy(Object.entries(variables), ([, path]) => path.split('.', 1)[0]!)
  for (const members of groups.values()) {
    const isConfigured = (path: string): boolean => valueAt(filled, path.split('.')) !== undefined
    const said = members.some(
      ([name, path]) => !appearance.includes(path) && (environment[name] || isConfigured(path)),
    )
    for (const [name, path] of members) {
      const value = environment[name] || (said || isConfigured(path) ? undefined : standIns[name])
      if (value) place(filled, path.split('.'), value)
    }
  }
  return filled
}

const isWithin = (path: string, outer: string): boolean => path === outer || path.startsWith(`${outer}.`)

const valueAt = (options: unknown, [step, ...rest]: readonly string[]): unknown =>
  step === undefined || !isPlain(options) ? options : valueAt(options[step], rest)

function saidTwice(option: string, others: readonly string[]): StartError {
  const names = others.join(' and ')
  return new StartError(
    `${option}: ${names} ${others.length > 1 ? 'are' : 'is'} set as well, and would not be used: remove either ${option} or ${names}`,
  )
}

function place(options: unknown, [step = '', ...rest]: string[], value: string): void {
  if (!isPlain(options)) return
  if (rest.length === 0) options[step] = value
  else place((options[step] ??= {}), rest, value)
}

/**
 * Brings together the options of each wire and its environment variables, holds them against its schema, and fills in
 * the defaults.
 *
 * @param standIns variables of local stand-ins for providers that are not configured
 * @throws StartError with the name of the variable that was given, or else of the option, from the wire on:
 *   `auth.local.passwordMinLength`
 */
export function checkOptions(
  wires: readonly ConfiguredWire[],
  environment: Variables = {},
  standIns: Variables = {},
): Map<ConfiguredWire, unknown> {
  const validation = createValidation()
  return new Map(
    wires.map((wire) => {
      const options = withVariables(wire, environment, standIns)
      const schema = wire.optionsSchema
      if (!schema) return [wire, options]
      checkOptionNames(options, schema, wire.name)
      const checked = validation('body', schema)(options)
      if (!('error' in checked)) return [wire, checked.value]
      const { path, message } = ((checked.error as ApiError).details!['issues'] as [Issue])[0]
      const option = path.replace(/^\/body\/?/, '').replaceAll('/', '.')
      const variable = Object.keys(wire.variables).find(
        (name) => environment[name] && wire.variables[name] === option,
      )
      throw new StartError(`${variable ?? [wire.name, option].filter(Boolean).join('.')}: ${message}`)
    }),
  )
}

/** What each variable of the wires has come to, wherever its value is from. */
export const variablesOf = (options: ReadonlyMap<ConfiguredWire, unknown>): Variables =>
  Object.fromEntries(
    [...options].flatMap(([{ variables }, given]) =>
      Object.entries(variables).map(([name, path]) => {
        const value = valueAt(given, path.split('.'))
        return [name, typeof value === 'string' ? value : undefined]
      }),
    ),
  )

/** Defaults are written into a copy, in which functions and objects of a class stay what they are. */
function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied)
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]))
}

/** An option that its schema does not know, a misspelt one, would be ignored. */
function checkOptionNames(value: unknown, schema: TSchema, path: string): void {
  const { properties, additionalProperties, patternProperties } = schema as {
    properties?: Record<string, TSchema>
    additionalProperties?: unknown
    patternProperties?: unknown
  }
  if (!isPlain(value) || !properties) return
  const isOpen = patternProperties !== undefined || (additionalProperties ?? false) !== false
  for (const [name, one] of Object.entries(value))
    if (Object.hasOwn(properties, name)) checkOptionNames(one, properties[name]!, `${path}.${name}`)
    else if (!isOpen)
      throw new StartError(
        `${path}.${name}: there is no such option${didYouMean(name, Object.keys(properties))}`,
      )
}
