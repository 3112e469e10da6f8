import type { Static, TSchema } from 'typebox'

import { didYouMean } from './base/did-you-mean.ts'
import { StartError } from './base/start-error.ts'
import type { WebhookOption } from './kernel/events/webhook-option.ts'
import type { ScheduledWork } from './kernel/schedule/schedule-option.ts'
import { readConfigFile } from './kernel/config/config-file.ts'
import { settingNames, type Settings, type SettingsInput } from './kernel/config/config.ts'
import type { ApiOf, ConfiguredWire, ServiceOf } from './kernel/wire/wire.ts'
import { checkWires, orderWires } from './kernel/wire/wiring.ts'
import { auth } from './wires/auth/index.ts'
import { core } from './wires/core/index.ts'
import { messaging } from './wires/messaging/index.ts'
import { onchain } from './wires/onchain/index.ts'
import { pay } from './wires/pay/index.ts'
import { store } from './wires/store/index.ts'

/** Sixwire's own wires, each after those that it may need. */
export const BUILT_IN = { core, messaging, onchain, auth, pay, store }

export type BuiltIn = typeof BUILT_IN
type OptionsOf<W> = W extends (options?: infer O) => ConfiguredWire ? NonNullable<O> : never

/** The routes of Sixwire's own wires as their code has them; `Api` of the client is the same, written as text. */
export type BuiltInApi = ApiOf<BuiltIn[keyof BuiltIn]>

/** Work that runs at certain times; its context has the documents of the store, with the rights of the system. */
export type ScheduleOption = ScheduledWork<{
  /** Undefined if the store is not loaded. */
  readonly documents: ServiceOf<typeof store>['documents']
}>

/**
 * The content of `sixwire.config.ts`: the frame's settings, the options of each wire, the application's own wires, and its
 * schedules.
 */
export type Config = SettingsInput & {
  readonly [N in Exclude<keyof BuiltIn, 'core'>]?: OptionsOf<BuiltIn[N]>
} & {
  /** The application's own wires. */
  readonly wires?: readonly ConfiguredWire[]
  /** Work that runs at certain times, by name. */
  readonly schedule?: Readonly<Record<string, ScheduleOption>>
  /** Addresses to which events are sent. */
  readonly webhooks?: readonly WebhookOption[]
}

/** A configuration with the types of its collections, for `CollectionsOf`. */
export type TypedConfig<Collections> = Config & {
  /** Only for the types. */
  readonly '~collections'?: Collections
}

/**
 * The types of the documents of a configuration, for the typed client: `createClient<Api & CollectionsOf<typeof config>>(url)`.
 * Of a schema that is plain JSON the type is not known, unless it is in `Type.Unsafe<Project>({ … })`.
 */
export type CollectionsOf<C> = {
  collections: C extends { readonly '~collections'?: infer Collections } ? Documents<Collections> : unknown
  fileFields: C extends { readonly '~collections'?: infer Collections } ? FileFields<Collections> : unknown
}

/** The names of the fields of files of collections that declare some. */
type FileFields<Collections> = {
  [
    Name in keyof Collections as Collections[Name] extends { readonly files: object } ? Name : never
  ]: Collections[Name] extends { readonly files: infer Files } ? keyof Files & string : never
}

type Documents<Collections> = {
  [
    Name in keyof Collections as Collections[Name] extends { readonly schema: object } ? Name : never
  ]: Collections[Name] extends { readonly schema: infer Schema extends TSchema }
    ? Document<Static<Schema>>
    : never
}
type Document<T> = unknown extends T ? Record<string, unknown> : T

/**
 * Types a configuration, and returns it unchanged.
 *
 * @example
 * export default defineConfig({
 *   name: 'shop',
 *   auth: { local: { passwordMinLength: 10 } },
 *   wires: [loyalty()],
 * })
 */
export const defineConfig = <Collections = unknown>(
  config: Config & { readonly store?: { readonly collections?: Collections } },
): TypedConfig<Collections> => config

/**
 * Reads `sixwire.config.ts` of a folder; returns an empty configuration if there is none.
 *
 * @throws StartError with what is wrong in the file
 */
export const loadConfig = async (folder: string): Promise<Config> => readConfigFile(folder)

function checkNames(config: Config): void {
  const known = [...settingNames, ...Object.keys(BUILT_IN), 'wires', 'schedule', 'webhooks']
  const unknown = Object.keys(config).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new StartError(`${unknown}: there is no such setting${didYouMean(unknown, known)}`)
}

/**
 * Sixwire's own wires with their options, and the application's.
 *
 * @throws StartError with a setting that does not exist, or a wire that can't work
 */
export function configuredWires(config: Config): ConfiguredWire[] {
  checkNames(config)
  checkWires(config.wires ?? [])
  const own = Object.entries(BUILT_IN).map(([name, wire]): ConfiguredWire => ({
    ...(wire as (options: unknown) => ConfiguredWire)(config[name as Exclude<keyof BuiltIn, 'core'>] ?? {}),
    isBuiltIn: true,
  }))
  return [...own, ...(config.wires ?? [])]
}

/**
 * The wires that `SIXWIRE_WIRES` loads, in their order.
 *
 * @throws StartError if there is no wire of a name, or one that another needs is not loaded
 */
export function chooseWires(
  all: readonly ConfiguredWire[],
  { load }: Pick<Settings, 'load'>,
): ConfiguredWire[] {
  const names = all.map(({ name }) => name)
  const unknown = load?.find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new StartError(
      `SIXWIRE_WIRES: there is no wire "${unknown}": there are ${names.join(', ')}${didYouMean(unknown, names)}`,
    )
  // Without core there would be no health checks.
  return orderWires(all.filter(({ name }) => name === 'core' || !load || load.includes(name)))
}
