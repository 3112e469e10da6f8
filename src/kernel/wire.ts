import type { FastifyBaseLogger } from 'fastify'
import type { Static, TSchema } from 'typebox'

import type { Clock } from '../base/clock.ts'
import type { Settings } from './config.ts'
import type { Database } from '../db/database.ts'
import {
  checkFields,
  FUNCTION,
  isEach,
  isPlain,
  isSchema,
  isText,
  optional,
  TEXT,
  type Field,
} from './fields.ts'
import type { Caller } from '../http/access.ts'
import type { Policy } from './policy.ts'
import type { DatabaseRateLimiter } from './rate-limits.ts'
import type { Route } from '../http/route.ts'
import type { Jobs } from './jobs.ts'

/** What the whole server tells about itself. */
export type ServerStatus = {
  /** `starting` until migrations ran and every wire started; `draining` from the signal to end. */
  state(): 'starting' | 'ready' | 'draining'
  /** Seconds since the start. */
  uptime(): number
  /** Every loaded wire, with the check that rejects where it can't work. */
  wires(): ReadonlyMap<string, () => Promise<void>>
  /** Prometheus text, and its content type. */
  metrics(): Promise<{ text: string; contentType: string }>
}

/** What every wire is given. */
export type WireContext = {
  db: Database
  clock: Clock
  jobs: Jobs
  log: FastifyBaseLogger
  settings: Settings
  policy: Policy
  /** Rate limits that are steps of a batch; those of routes are their `limit`. */
  rateLimiter: Pick<DatabaseRateLimiter, 'takeSql' | 'waitSql'>
  server: ServerStatus
}

/** What a wire's `setup` answers. */
export type Running<Service = unknown, Routes extends readonly Route[] = readonly Route[]> = {
  routes: Routes
  /** The largest body in bytes of the routes that name none of their own. Default 1 MiB. */
  bodyLimit?: number
  /** What the wire offers to wires that need it. */
  service: Service
  /** Runs once the tables are there, before the server is ready. */
  start?: () => Promise<void>
  /** Rejects where the wire can't work right now. */
  health?: () => Promise<void>
  /**
   * What `sixwire check` asks beside the health, each under a name: whatever is configured outside of this server. It
   * may be away for a while without the server being ill. Rejects with a sentence for the operator.
   */
  checks?: ReadonlyMap<string, () => Promise<void>>
  /** Lets go of what the wire holds, after the last answer was given. */
  close?: () => Promise<void>
  /** Who sends this bearer token. The wire that keeps accounts has it. */
  authenticate?: (token: string) => Promise<Caller | undefined>
}

/** Another wire that a wire builds on, loaded before it. */
export type Need<Name extends string = string, Service = unknown, Optional extends boolean = boolean> = {
  readonly wireName: Name
  readonly isOptional: Optional
  /** Only for the types: what the other wire offers. */
  readonly offers?: Service
}

type Offers<N extends Need> =
  N extends Need<string, infer Service, infer Optional>
    ? Optional extends true
      ? Service | undefined
      : Service
    : never
type Needed<Needs extends readonly Need[]> = { [N in Needs[number] as N['wireName']]: Offers<N> }

/** A wire with its options, ready to be loaded. */
export type ConfiguredWire<
  Name extends string = string,
  Service = unknown,
  Routes extends readonly Route[] = readonly Route[],
> = {
  readonly name: Name
  readonly description: string | undefined
  readonly needs: readonly Need[]
  readonly migrations: URL | undefined
  readonly optionsSchema: TSchema | undefined
  readonly options: unknown
  /** Environment variables, and the dotted option that each one is. */
  readonly variables: Readonly<Record<string, string>>
  /** Options, and the dotted one that each stands instead of. */
  readonly appearance: readonly string[]
  readonly insteadOf: Readonly<Record<string, string>>
  setup(
    context: WireContext & Record<string, unknown>,
    options: unknown,
  ): Running<Service, Routes> | Promise<Running<Service, Routes>>
}

/** A wire: called with options it can be loaded; as a need it stands for what it offers. */
export type Wire<Name extends string, Options, Service, Routes extends readonly Route[]> = {
  (options?: Options): ConfiguredWire<Name, Service, Routes>
} & Need<Name, Service, false> & {
    /** As a need: used where it is loaded, done without where it is not. */
    readonly optional: Need<Name, Service, true>
  }

/** What may be given of options: whatever is left out takes its default. */
type Given<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Given<T[K]> } : T

/** The routes of a wire, for the typed client. */
export type RoutesOf<W> = W extends (...options: never[]) => ConfiguredWire<string, unknown, infer R>
  ? R[number]
  : never

/** What a wire offers to the others. */
export type ServiceOf<W> = W extends Need<string, infer Service> ? Service : never

const TEXTS: Field = {
  takes: 'an object of texts',
  fits: (value) => isPlain(value) && isEach(value, isText),
}

const DEFINITION: { readonly [Name in keyof Required<Parameters<typeof defineWire>[0]>]: Field } = {
  name: TEXT,
  description: optional(TEXT),
  needs: optional({
    takes: 'a list of wires, like [auth, messaging.optional]',
    fits: (value) =>
      Array.isArray(value) && value.every((one: Partial<Need> | null) => isText(one?.wireName)),
  }),
  options: optional({ takes: 'a schema like Type.Object({ … })', fits: isSchema }),
  variables: optional(TEXTS),
  appearance: optional({
    takes: 'a list of texts',
    fits: (value) => Array.isArray(value) && value.every(isText),
  }),
  insteadOf: optional(TEXTS),
  migrations: optional({
    takes: "the file: URL of a folder, like new URL('./migrations/', import.meta.url)",
    fits: (value) => value instanceof URL && value.protocol === 'file:',
  }),
  setup: FUNCTION,
}

/**
 * Defines a wire: a name, what it needs, its tables, and the setup that makes its routes.
 * Sixwire's own wires and an application's are made by this same function.
 *
 * `setup` must not touch the database: its tables may not be there yet. `start` may.
 *
 * @throws StartError with the field that is missing, unknown or does not fit
 */
export function defineWire<
  const Name extends string,
  const Needs extends readonly Need[] = readonly [],
  Options extends TSchema = TSchema,
  Service = undefined,
  const Routes extends readonly Route[] = readonly Route[],
>(definition: {
  name: Name
  /** What the wire is for, in one sentence, for `/openapi.json` and `/docs`. */
  description?: string
  needs?: Needs
  /** Schema of the options; its defaults are the options' defaults. */
  options?: Options
  /**
   * Environment variables that win over the configuration, with the dotted option that each one is:
   * `{ SMTP_URL: 'smtp.url' }`. Where none of those under one first step is given, here or there, a stand-in may
   * give them.
   */
  variables?: Readonly<Record<string, string>>
  /**
   * Those of these options that say under which name something appears, and not what it is: `['smtp.from']`. Alone they
   * leave it to a stand-in.
   */
  appearance?: readonly string[]
  /**
   * Options that stand instead of others, `{ email: 'smtp' }`: where one is given, the other one, or anything below it,
   * stops the start, from a variable as well. That of a stand-in is no fault: nobody wrote it.
   */
  insteadOf?: Readonly<Record<string, string>>
  /** Folder with the wire's `001-….sql` files. */
  migrations?: URL
  setup(
    context: WireContext & Needed<Needs>,
    options: Static<Options>,
  ): Running<Service, Routes> | Promise<Running<Service, Routes>>
}): Wire<Name, Given<Static<Options>>, Service, Routes> {
  checkFields(`defineWire(${isText(definition.name) ? definition.name : ''})`, definition, DEFINITION)
  const configure = (options: unknown = {}): ConfiguredWire<Name, Service, Routes> => ({
    name: definition.name,
    description: definition.description,
    needs: definition.needs ?? [],
    migrations: definition.migrations,
    optionsSchema: definition.options,
    options,
    variables: definition.variables ?? {},
    appearance: definition.appearance ?? [],
    insteadOf: definition.insteadOf ?? {},
    setup: (context, given) =>
      definition.setup(context as WireContext & Needed<Needs>, given as Static<Options>),
  })
  return Object.assign(configure, {
    wireName: definition.name,
    isOptional: false as const,
    optional: { wireName: definition.name, isOptional: true as const },
  })
}
