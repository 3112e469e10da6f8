import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import { frameVariables, type Variables } from '../config/config.ts'
import { placeOf, type SettingPlace } from '../config/masked.ts'
import { isPlain } from '../config/fields.ts'
import { schemaAt, valueAt } from '../config/option-path.ts'
import { isConfigured } from '../wire/options.ts'
import { API_BASE, type WireProvider } from '../wire/provider-options.ts'
import type { ConfiguredWire } from '../wire/wire.ts'
import { FRAME_SETTABLE } from './frame-settable.ts'
import type { StoredOptions } from './stored-settings.ts'

/** An option that administrators may set while the server runs. */
export type SettableOption = {
  /** From the wire on: `messaging.smtp.url`; of the frame its name. */
  readonly path: string
  /** What is set together: `messaging.smtp`, `auth.local`, `general`. */
  readonly group: string
  readonly wire: string | undefined
  readonly schema: TSchema
  readonly place: SettingPlace
  readonly variable: string | undefined
  /** Where it is set so that it cannot be set here: a variable, or the configuration file; undefined if it can. */
  readonly lockedBy: string | undefined
}

/** The webhooks that administrators add beside those of the file, each an option of its own: `webhooks.shop`. */
export const WEBHOOKS = 'webhooks.'

const WEBHOOK = Type.Object({
  url: Type.String(),
  secret: Type.String(),
  events: Type.Array(Type.String()),
})

/** The option of a webhook. */
export const webhookAt = (path: string): SettableOption => ({
  path,
  group: 'webhooks',
  wire: undefined,
  schema: WEBHOOK,
  place: { ...placeOf(['webhooks', path.slice(WEBHOOKS.length)], { schema: WEBHOOK }), isSecret: false },
  variable: undefined,
  lockedBy: undefined,
})

/** What options may be locked by. */
export type ConfiguredElsewhere = {
  /** The configuration file as it is written. */
  config: Readonly<Record<string, unknown>>
  environment: Variables
  configFile: string
}

/** The options that administrators may set, those that are locked included. */
export type Settable = {
  /** The option of a path; undefined if there is none that they may set. */
  at(path: string): SettableOption | undefined
  /** All of them; of maps the entries that the configuration has, or that are stored. */
  list(stored: StoredOptions): SettableOption[]
}

/** A wildcard in the path of an option, for any name: `providers.*`. */
const ANY = '*'
/** A name that an administrator gives: no path leads by it to what objects inherit. */
const ENTRY_NAME = /^[a-z\d][a-z\d-]{0,99}$/i

export function settableOptions(wires: readonly ConfiguredWire[], elsewhere: ConfiguredElsewhere): Settable {
  const ofWires = wires.flatMap((wire) => {
    const single = wire.settable.filter((path) => !path.includes(ANY))
    return single.flatMap((path) =>
      leavesOf(path, schemaAt(wire.optionsSchema, path)).map(([leaf, schema]) =>
        ofWire(wire, leaf, schema, elsewhere),
      ),
    )
  })
  const ofFrames = Object.entries(FRAME_SETTABLE).map(([path, schema]) => ofFrame(path, schema, elsewhere))
  const single = new Map([...ofFrames, ...ofWires].map((one) => [one.path, one]))
  const at = (path: string): SettableOption | undefined =>
    single.get(path) ?? (path.startsWith(WEBHOOKS) ? webhookAt(path) : entryAt(wires, path, elsewhere))
  return {
    at,
    list: (stored) => [
      ...single.values(),
      ...wires.flatMap((wire) =>
        entriesOf(wire, stored, elsewhere).flatMap((entry) =>
          leavesOf(entry, schemaAt(wire.optionsSchema, entry)).map(([leaf]) => at(`${wire.name}.${leaf}`)!),
        ),
      ),
      ...Object.keys(stored)
        .filter((path) => path.startsWith(WEBHOOKS))
        .map(webhookAt),
    ],
  }
}

/** The map that an option of a wire is in an entry of, with the path of that entry; undefined if it is in none. */
function entryIn(wire: ConfiguredWire, leaf: string): string | undefined {
  const steps = leaf.split('.')
  for (const pattern of wire.settable.filter((path) => path.includes(ANY)).map((path) => path.split('.'))) {
    const isBelow =
      pattern.length < steps.length &&
      pattern.every((step, at) => step === steps[at] || (step === ANY && ENTRY_NAME.test(steps[at]!)))
    if (isBelow) return steps.slice(0, pattern.length).join('.')
  }
  return undefined
}

/** An option of an entry, which need not exist yet. */
function entryAt(
  wires: readonly ConfiguredWire[],
  path: string,
  elsewhere: ConfiguredElsewhere,
): SettableOption | undefined {
  const [name = '', ...steps] = path.split('.')
  const leaf = steps.join('.')
  const wire = wires.find((one) => one.name === name)
  const entry = wire && entryIn(wire, leaf)
  if (entry === undefined) return undefined
  const [found] = leavesOf(entry, schemaAt(wire!.optionsSchema, entry)).filter(([one]) => one === leaf)
  return (
    found && {
      ...ofWire(wire!, leaf, found[1], elsewhere),
      group: `${name}.${entry}`,
      // An entry is set in one place as a whole, as a provider is.
      lockedBy: valueAt(writtenOf(wire!, elsewhere), entry) === undefined ? undefined : elsewhere.configFile,
    }
  )
}

/** The entries of a wire's maps, those of the configuration first. */
function entriesOf(wire: ConfiguredWire, stored: StoredOptions, elsewhere: ConfiguredElsewhere): string[] {
  const written = wire.settable
    .filter((path) => path.includes(ANY))
    .flatMap((path) => pathsIn(writtenOf(wire, elsewhere), path.split('.')))
  const own = Object.keys(stored)
    .filter((path) => path.startsWith(`${wire.name}.`))
    .flatMap((path) => entryIn(wire, path.slice(wire.name.length + 1)) ?? [])
  return [...new Set([...written, ...own])]
}

/** The paths in a value that a pattern matches. */
const pathsIn = (value: unknown, [step, ...rest]: readonly string[]): string[] =>
  Object.keys(isPlain(value) ? value : {})
    .filter((name) => name === step || (step === ANY && ENTRY_NAME.test(name)))
    .flatMap((name) =>
      rest.length === 0
        ? [name]
        : pathsIn((value as Record<string, unknown>)[name], rest).map((below) => `${name}.${below}`),
    )

function ofFrame(
  path: string,
  schema: TSchema,
  { config, environment, configFile }: ConfiguredElsewhere,
): SettableOption {
  const [variable] = Object.entries(frameVariables).find(([, { option }]) => option === path) ?? []
  return {
    path,
    group: 'general',
    wire: undefined,
    schema,
    place: placeOf([path], { schema }),
    variable,
    lockedBy:
      variable !== undefined && environment[variable]
        ? variable
        : config[path] === undefined
          ? undefined
          : configFile,
  }
}

/** The options of a wire as the configuration file has them. */
const writtenOf = (
  { name, options, isBuiltIn }: ConfiguredWire,
  { config }: Pick<ConfiguredElsewhere, 'config'>,
): unknown => config[name] ?? (isBuiltIn ? {} : options)

function ofWire(
  wire: ConfiguredWire,
  leaf: string,
  schema: TSchema,
  { config, environment, configFile }: ConfiguredElsewhere,
): SettableOption {
  const { name, variables, providers, isBuiltIn } = wire
  const written = writtenOf(wire, { config })
  const path = `${name}.${leaf}`
  const steps = path.split('.')
  const provider = providers.find((one) => leaf.startsWith(`${one.path}.`))
  const [variable] = Object.entries(variables).find(([, option]) => option === leaf) ?? []
  const isSetBy = variable !== undefined && environment[variable] ? variable : undefined
  return {
    path,
    group: provider ? `${name}.${provider.path}` : steps.length > 2 ? `${name}.${steps[1]}` : name,
    wire: name,
    schema,
    place: { ...placeOf(steps, { schema, isOpen: isBuiltIn === true }) },
    variable,
    lockedBy:
      isSetBy ??
      (valueAt(written, leaf) === undefined ? undefined : configFile) ??
      (provider && lockOfProvider(provider, written, { environment, configFile })),
  }
}

/**
 * A provider is configured in one place as a whole: its secrets must not go to an address that was set in another. An operator
 * who sets nothing but an address lets the secrets of the console go there.
 */
function lockOfProvider(
  provider: WireProvider,
  written: unknown,
  { environment, configFile }: Pick<ConfiguredElsewhere, 'environment' | 'configFile'>,
): string | undefined {
  const isReplaced = Object.keys(provider.replacedBy).some((option) => valueAt(written, option) !== undefined)
  if (isReplaced) return configFile
  const variables = Object.fromEntries(
    Object.entries(provider.variables).filter(([, path]) => !path.endsWith(`.${API_BASE}`)),
  )
  if (!isConfigured({ ...provider, variables }, written, environment)) return undefined
  return Object.keys(variables).find((name) => environment[name]) ?? configFile
}

/** The option that an error of the configuration names, by its path or variable; undefined if it names none of these. */
export function optionNamedBy(
  message: string,
  options: readonly SettableOption[],
): { option: SettableOption; reason: string } | undefined {
  // `SMTP_URL, or the url of smtp(): …`
  const [, name = '', reason = ''] = /^([\w.-]+)(?:, or [^:]*)?: (.*)$/s.exec(message) ?? []
  const option = options.find(
    ({ path, variable }) => path === name || variable === name || name.startsWith(`${path}.`),
  )
  return option && { option, reason }
}

type ObjectSchema = TSchema & {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, TSchema>>
}

/** The options below a path that are no objects of options themselves. */
function leavesOf(path: string, schema: TSchema | undefined): [path: string, schema: TSchema][] {
  const { type, properties } = (schema ?? {}) as ObjectSchema
  if (schema === undefined) return []
  if (type !== 'object' || !properties) return [[path, schema]]
  return Object.entries(properties).flatMap(([name, one]) => leavesOf(`${path}.${name}`, one))
}
