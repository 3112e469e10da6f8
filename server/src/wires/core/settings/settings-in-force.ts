import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { frameVariables, type Settings, type SettingsInput } from '../../../kernel/config/config.ts'
import { isPlain } from '../../../kernel/config/fields.ts'
import { MASK, masked, membersOf, placeOf, type SettingPlace } from '../../../kernel/config/masked.ts'
import type { WebhookEndpoint } from '../../../kernel/events/webhook-option.ts'
import type { Schedule } from '../../../kernel/schedule/schedule-option.ts'
import { SECRET_FILE } from '../../../kernel/secret/secret.ts'
import type { ConfiguredWire } from '../../../kernel/wire/wire.ts'

/** A setting or an option of a wire as it is in force, and where that is from. */
export type SettingInForce = {
  /** The option in the configuration file, from the wire on; of what has none the variable. */
  option: string
  variable: string | null
  /** Masked if it may be a secret. */
  value: unknown
  source: string
}

/** What the sources of values are called. */
export type SettingSources = {
  /** Where a variable is from; undefined if it is not set. */
  sourceOf: (variable: string) => string | undefined
  /** The name of the configuration file. */
  configFile: string
  /** Whether an option is set in the console. */
  isStored: (path: string) => boolean
}

/** The source of what administrators have set. */
export const CONSOLE = 'console'
const DEFAULT = 'default'

/** What a configuration consists of, once it is checked. */
export type CheckedConfig = {
  settings: Omit<Settings, 'secret'>
  /** As it is written in the file. */
  input: SettingsInput & { readonly schedule?: Readonly<Record<string, object>> | undefined }
  /** The options of the wires that are loaded. */
  wireOptions: Iterable<readonly [ConfiguredWire, unknown]>
  schedules: readonly Schedule[]
  webhooks: readonly WebhookEndpoint[]
}

/** All that is in force, with where it is from. */
export const settingsInForce = (
  { settings, input, wireOptions, schedules, webhooks }: CheckedConfig,
  sources: SettingSources,
): SettingInForce[] => [
  ...frameInForce(settings, input, sources),
  ...[...wireOptions].flatMap(([wire, options]) => optionsInForce(wire, options, sources)),
  ...schedules.flatMap((one) => scheduleInForce(one, input.schedule?.[one.name], sources)),
  ...webhooksInForce(webhooks, sources),
]

/** The settings of the frame. */
function frameInForce(
  settings: Omit<Settings, 'secret'>,
  input: SettingsInput,
  { sourceOf, configFile, isStored }: SettingSources,
): SettingInForce[] {
  const hasPackage = existsSync(join(settings.appDir, 'package.json'))
  const inFile = (name: string): boolean => Object.hasOwn(input, name)
  const fileOf = (name: string): string => (isStored(name) ? CONSOLE : configFile)
  const ofPackage = (name: 'name' | 'version'): SettingInForce => ({
    option: name,
    variable: null,
    value: settings[name],
    source: inFile(name) ? fileOf(name) : hasPackage ? 'package.json' : DEFAULT,
  })
  const ofVariables = Object.entries(frameVariables).flatMap(([variable, { option }]): SettingInForce[] => {
    if (option === undefined) return []
    const value = settings[option as keyof typeof settings]
    const source = sourceOf(variable) ?? (inFile(option) ? fileOf(option) : DEFAULT)
    return [{ option, variable, value: masked(value ?? null, placeOf([option])), source }]
  })
  const color: SettingInForce[] =
    settings.color === undefined
      ? []
      : [{ option: 'color', variable: null, value: settings.color, source: fileOf('color') }]
  return [
    ofPackage('name'),
    ofPackage('version'),
    ...color,
    ...ofVariables,
    secretInForce(settings, sourceOf),
  ]
}

function secretInForce(
  { dataDir }: Pick<Settings, 'dataDir'>,
  sourceOf: SettingSources['sourceOf'],
): SettingInForce {
  const variable = 'SIXWIRE_SECRET'
  const source =
    sourceOf(variable) ??
    (existsSync(join(dataDir, SECRET_FILE)) ? join(dataDir, SECRET_FILE) : 'created at the first start')
  return { option: variable, variable, value: MASK, source }
}

/** The options of a wire that have a value. */
function optionsInForce(
  { name: wire, options, optionsSchema, variables, isBuiltIn }: ConfiguredWire,
  checked: unknown,
  { sourceOf, configFile, isStored }: SettingSources,
): SettingInForce[] {
  const settings: SettingInForce[] = []
  // The variable of the option, or of the map that it is an entry of.
  const variableOf = (path: string): string | null =>
    Object.keys(variables).find(
      (name) => path === variables[name] || path.startsWith(`${variables[name]}.`),
    ) ?? null
  const visit = (value: unknown, written: unknown, place: SettingPlace): void => {
    const members = membersOf(value, place) ?? []
    for (const [name, one, at] of members) visit(one, isPlain(written) ? written[name] : undefined, at)
    const isEmpty = place.path.length === 1 && isPlain(value) && Object.keys(value).length === 0
    if (members.length > 0 || value === undefined || isEmpty) return
    const variable = variableOf(place.path.slice(1).join('.'))
    const option = place.path.join('.')
    const file = isStored(option) ? CONSOLE : configFile
    const source =
      (variable === null ? undefined : sourceOf(variable)) ?? (written === undefined ? DEFAULT : file)
    settings.push({ option, variable, value: masked(value, place), source })
  }
  visit(
    checked,
    options,
    placeOf([wire], { schema: optionsSchema, isOpen: isBuiltIn === true, isWire: true }),
  )
  return settings
}

/** A schedule, without its function. */
const scheduleInForce = (
  schedule: Schedule,
  written: object = {},
  { configFile }: SettingSources,
): SettingInForce[] =>
  (['cron', 'timeZone', 'missed'] as const).map((name) => ({
    option: `schedule.${schedule.name}.${name}`,
    variable: null,
    value: schedule[name],
    source: Object.hasOwn(written, name) ? configFile : DEFAULT,
  }))

/** The webhooks, without their secrets. */
const webhooksInForce = (
  webhooks: readonly WebhookEndpoint[],
  { configFile, isStored }: SettingSources,
): SettingInForce[] =>
  webhooks.flatMap(({ name, url, events }, at) =>
    Object.entries({ name, url: url.href, secret: MASK, events }).map(([option, value]) => ({
      option: `webhooks[${at}].${option}`,
      variable: null,
      value: masked(value, placeOf(['webhooks', option])),
      source: isStored(`webhooks.${name}`) ? CONSOLE : configFile,
    })),
  )
