import type { TSchema } from 'typebox'

import { Type } from '../../base/schema.ts'
import { FRAME_SETTABLE, frameVariables, type Variables } from '../config/config.ts'
import { placeOf, type SettingPlace } from '../config/masked.ts'
import { schemaAt, valueAt } from '../config/option-path.ts'
import { isConfigured } from '../wire/options.ts'
import type { WireProvider } from '../wire/provider-options.ts'
import type { ConfiguredWire } from '../wire/wire.ts'

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

/** The option of a path; undefined if administrators may not set it. */
export function settableAt(
  settable: ReadonlyMap<string, SettableOption>,
  path: string,
): SettableOption | undefined {
  return settable.get(path) ?? (path.startsWith(WEBHOOKS) ? webhookAt(path) : undefined)
}

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

/** All options that administrators may set, those that are locked included. */
export const settableOptions = (
  wires: readonly ConfiguredWire[],
  elsewhere: ConfiguredElsewhere,
): SettableOption[] => [
  ...Object.entries(FRAME_SETTABLE).map(([path, schema]) => ofFrame(path, schema, elsewhere)),
  ...wires.flatMap((wire) =>
    wire.settable.flatMap((path) =>
      leavesOf(path, schemaAt(wire.optionsSchema, path)).map(([leaf, schema]) =>
        ofWire(wire, leaf, schema, elsewhere),
      ),
    ),
  ),
]

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

function ofWire(
  { name, variables, providers, options, isBuiltIn }: ConfiguredWire,
  leaf: string,
  schema: TSchema,
  { config, environment, configFile }: ConfiguredElsewhere,
): SettableOption {
  const written = config[name] ?? (isBuiltIn ? {} : options)
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

/** A provider is configured in one place as a whole: its secrets must not go to an address that was set in another. */
function lockOfProvider(
  provider: WireProvider,
  written: unknown,
  { environment, configFile }: Pick<ConfiguredElsewhere, 'environment' | 'configFile'>,
): string | undefined {
  const isReplaced = Object.keys(provider.replacedBy).some((option) => valueAt(written, option) !== undefined)
  if (isReplaced) return configFile
  if (!isConfigured(provider, written, environment)) return undefined
  return Object.keys(provider.variables).find((name) => environment[name]) ?? configFile
}

/** The option that an error of the configuration names, by its path or variable; undefined if it names none of these. */
export function optionNamedBy(
  message: string,
  options: readonly SettableOption[],
): { option: SettableOption; reason: string } | undefined {
  // `SMTP_URL, or the url of smtp(): …`
  const [, name = '', reason = ''] = /^([\w.]+)(?:, or [^:]*)?: (.*)$/s.exec(message) ?? []
  const option = options.find(({ path, variable }) => path === name || variable === name)
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
