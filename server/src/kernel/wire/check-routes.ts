import { isDeepStrictEqual } from 'node:util'

import { didYouMean } from '../../base/did-you-mean.ts'
import { StartError } from '../../base/start-error.ts'
import {
  ANYTHING,
  checkFields,
  FUNCTION,
  isEach,
  isPlain,
  isSchema,
  isText,
  oneOf,
  optional,
  shown,
  SWITCH,
  TEXT,
  type Field,
} from '../config/fields.ts'
import { limitOf, RATE_LIMIT } from '../../http/limits.ts'
import { titleFault } from '../../http/openapi-titles.ts'
import { DESCRIPTION } from '../../http/openapi.ts'
import { ACCESS } from '../../http/access.ts'
import type {
  BodyFiles,
  FormBody,
  JsonBody,
  MultipartBody,
  RawBody,
  RouteBody,
  StreamBody,
} from '../../http/bodies.ts'
import { METHODS, type Route, type RouteGroup, type RouteLimit, type RouteSpec } from '../../http/route.ts'
import type { Running } from './wire.ts'

const STATUS = /^[1-5]\d\d$/

const OBJECT: Field = {
  takes: 'a schema like Type.Object({ … })',
  fits: (value) => isSchema(value) && isPlain((value as { properties?: unknown }).properties),
}

const isPositive = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0

// A body that is not streamed is read into memory before its handler runs.
const LARGEST_BODY = 1024 ** 3

const BODY_BYTES: Field = {
  takes: `a whole number of bytes from 1 to ${LARGEST_BODY} (1 GiB)`,
  fits: (value) => isPositive(value) && (value as number) <= LARGEST_BODY,
}

const LONGEST_MS = 24 * 3_600_000

const MILLISECONDS: Field = {
  takes: `a whole number of milliseconds from 1 to ${LONGEST_MS} (24 hours)`,
  fits: (value) => isPositive(value) && (value as number) <= LONGEST_MS,
}

const SCHEMA: Field = { takes: 'a schema like Type.Object({ … })', fits: isSchema }

const LIMITS = { kind: TEXT, maxBytes: optional(BODY_BYTES), receiveMs: optional(MILLISECONDS) }

const MEDIA_TYPE = /^[a-z\d.+-]+\/[a-z\d.+-]+$/

const JSON_MEDIA_TYPE = /^application\/[a-z\d.-]+\+json$/

const mediaTypes = (form: RegExp, example: string): Field =>
  optional({
    takes: `a list of media types in lower case and without parameters, like ["${example}"]`,
    fits: (value) =>
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((type) => typeof type === 'string' && form.test(type)),
  })

type FieldsOf<Spec> = { readonly [Name in keyof Required<Spec>]: Field }

/** The fields of each kind of body. */
const BODIES: {
  readonly json: FieldsOf<JsonBody>
  readonly form: FieldsOf<FormBody>
  readonly raw: FieldsOf<RawBody>
  readonly stream: FieldsOf<StreamBody>
  readonly multipart: FieldsOf<MultipartBody>
} = {
  json: {
    ...LIMITS,
    schema: SCHEMA,
    contentTypes: mediaTypes(JSON_MEDIA_TYPE, 'application/merge-patch+json'),
    files: optional({ takes: 'an object like { max: 10, maxBytes: 50_000_000 }', fits: isPlain }),
  },
  form: { ...LIMITS, schema: OBJECT },
  raw: {
    ...LIMITS,
    maxBytes: BODY_BYTES,
    contentTypes: mediaTypes(MEDIA_TYPE, 'application/json'),
  },
  stream: {
    kind: TEXT,
    maxBytes: { takes: 'a whole number of bytes above 0', fits: isPositive },
    contentTypes: mediaTypes(MEDIA_TYPE, 'application/json'),
    receiveMs: optional(MILLISECONDS),
  },
  multipart: {
    kind: TEXT,
    fields: OBJECT,
    file: { takes: 'an object like { maxBytes: 50_000_000 }', fits: isPlain },
    receiveMs: optional(MILLISECONDS),
  },
}

const FILES: FieldsOf<BodyFiles> = {
  maxBytes: { takes: 'a whole number of bytes above 0', fits: isPositive },
  max: { takes: 'a whole number above 0', fits: isPositive },
  receiveMs: optional(MILLISECONDS),
}

const FILE: FieldsOf<MultipartBody['file']> = {
  field: TEXT,
  maxBytes: FILES.maxBytes,
  max: FILES.max,
  required: SWITCH,
}

const RATE: Field = {
  takes: 'calls a minute or an hour, like 30/min or 5/hour',
  fits: (value) => typeof value === 'string' && new RegExp(RATE_LIMIT).test(value),
}

const LIMIT: FieldsOf<RouteLimit> = {
  rate: RATE,
  name: optional(TEXT),
  countedIn: optional(oneOf(['database', 'process'])),
  always: optional(SWITCH),
  keys: optional(SWITCH),
}

const SPEC: { readonly [Name in keyof Required<RouteSpec>]: Field } = {
  summary: TEXT,
  description: optional(TEXT),
  access: oneOf(ACCESS),
  irreversible: optional(SWITCH), // see checkAccess
  proof: optional({
    takes: '"recent" or "console"',
    fits: (value) => value === 'recent' || value === 'console',
  }),
  changesNothing: optional(SWITCH),
  sealed: optional(SWITCH),
  scope: optional(TEXT), // see checkScope
  authorize: optional(FUNCTION),
  limit: ANYTHING, // see checkLimit
  readsOnly: optional(SWITCH),
  idempotent: optional({
    takes: 'true or false, or an object like { seconds: 60, isCurrent } with seconds above 0',
    fits: (value) => typeof value === 'boolean' || (isPlain(value) && isBriefReplay(value)),
  }),
  keysOf: optional(FUNCTION),
  replayed: optional(FUNCTION),
  params: optional(OBJECT),
  query: optional(OBJECT),
  body: ANYTHING, // see checkBody
  timeLimitMs: optional(MILLISECONDS),
  headers: optional(OBJECT),
  stream: optional(SWITCH), // see checkRoute
  answerHeaders: optional({
    takes: "an object of texts, like { 'tus-resumable': '1.0.0' }",
    fits: (value) => isPlain(value) && isEach(value, (one) => typeof one === 'string'),
  }),
  reply: {
    takes: 'a schema for each status, like { 200: Type.Object({ … }) }',
    fits: (value) =>
      isPlain(value) && isEach(value, isSchema) && isEach(Object.keys(value), isStatus) && !isEmpty(value),
  },
  errors: optional({
    takes: 'a list of errors from a table, like [errors.not_found]',
    fits: (value) => Array.isArray(value) && value.every(isErrorKind),
  }),
  errorDetails: optional({
    takes: 'an object of texts and nulls',
    fits: (value) => isPlain(value) && isEach(value, (one) => one === null || typeof one === 'string'),
  }),
}

const isBriefReplay = ({ seconds, isCurrent }: Record<string, unknown>): boolean =>
  isPositive(seconds) && typeof isCurrent === 'function'
const isStatus = (name: unknown): boolean => STATUS.test(name as string)
const isEmpty = (value: object): boolean => Object.keys(value).length === 0
const isErrorKind = (value: unknown): boolean =>
  typeof value === 'function' && isText((value as { code?: unknown }).code)

const isTableExport = (one: { table?: unknown; about?: unknown; isLeftOut?: unknown } | null): boolean =>
  isText(one?.table) && isText(one.about ?? one.isLeftOut)

const FIGURE_KINDS = oneOf(['count', 'bytes', 'time', 'text'])

const SERIES_UNITS = oneOf(['count', 'bytes', 'money', 'blocks'])

const isSeries = ({ name, title, unit, kind, read, sample }: Record<string, unknown>): boolean =>
  isText(name) &&
  isText(title) &&
  SERIES_UNITS.fits(unit) &&
  ((kind === 'sum' && typeof read === 'function') || (kind === 'level' && typeof sample === 'function'))

const RUNNING: { readonly [Name in keyof Required<Running>]: Field } = {
  routes: { takes: 'a list of what route(…) returns', fits: Array.isArray },
  variants: optional(FUNCTION),
  variantsOf: optional(FUNCTION),
  bodyLimit: optional(BODY_BYTES),
  service: ANYTHING,
  start: optional(FUNCTION),
  ready: optional(FUNCTION),
  health: optional(FUNCTION),
  checks: optional({
    takes: 'a Map of functions',
    fits: (value) => value instanceof Map && isEach([...value.values()], FUNCTION.fits),
  }),
  exports: optional({
    takes: "an object like { tables: [{ table: 'shop_carts', about: 'Carts' }] }",
    fits: (value) => isPlain(value) && Array.isArray(value['tables']) && value['tables'].every(isTableExport),
  }),
  optionFault: optional(FUNCTION),
  warnings: optional({
    takes: 'a list of texts',
    fits: (value) => Array.isArray(value) && value.every(isText),
  }),
  diagnoses: optional({
    takes: 'a list of objects with a name, what it is about, and find()',
    fits: (value) =>
      Array.isArray(value) &&
      value.every((one) => isPlain(one) && isText(one['name']) && typeof one['find'] === 'function'),
  }),
  figures: optional({
    takes: 'a list of objects with a name, a title, a kind and read()',
    fits: (value) =>
      Array.isArray(value) &&
      value.every(
        (one) =>
          isPlain(one) &&
          isText(one['name']) &&
          isText(one['title']) &&
          FIGURE_KINDS.fits(one['kind']) &&
          typeof one['read'] === 'function',
      ),
  }),
  series: optional({
    takes: 'a list of objects with a name, a title, a unit, a kind, and read(slots) or sample()',
    fits: (value) => Array.isArray(value) && value.every((one) => isPlain(one) && isSeries(one)),
  }),
  screens: optional({ takes: 'a list of screens', fits: (value) => isEach(value, isPlain) }), // see checkScreens
  sealed: optional({ takes: 'a list of columns', fits: Array.isArray }),
  personalTables: optional({
    takes: 'an object by the names of tables',
    fits: (value) => isPlain(value) && isEach(value, isPlain),
  }),
  timeline: optional({
    takes: 'a list of objects with a name and read(person, page)',
    fits: (value) =>
      Array.isArray(value) &&
      value.every((one) => isPlain(one) && isText(one['name']) && typeof one['read'] === 'function'),
  }),
  archives: optional(ANYTHING),
  personOf: optional(FUNCTION),
  accountOfEmail: optional(FUNCTION),
  close: optional(FUNCTION),
  authenticate: optional(FUNCTION),
  callers: optional({
    takes: 'an object of functions: tokenExpiry, changed and current',
    fits: (value) => isPlain(value) && isEach(Object.values(value), FUNCTION.fits),
  }),
  requiresVerifiedEmail: optional(FUNCTION),
  scheduleContext: optional({ takes: 'an object', fits: isPlain }),
  sandboxLists: optional({
    takes: 'an object of functions, like { paymentRequests }',
    fits: (value) => isPlain(value) && isEach(value, FUNCTION.fits),
  }),
  mounts: optional({
    takes: 'a list of objects with a prefix and a plugin',
    fits: (value) =>
      Array.isArray(value) &&
      value.every((one) => isPlain(one) && isText(one['prefix']) && typeof one['plugin'] === 'function'),
  }),
  quiet: optional(FUNCTION),
}

/**
 * Checks the result of a wire's setup.
 *
 * @throws StartError with the wire and the field that is missing, unknown or does not fit
 */
export function checkRunning(wire: string, running: unknown): void {
  if (!isPlain(running))
    throw new StartError(
      `wires: ${wire}: setup must return an object like { routes: […], service: undefined }`,
    )
  checkFields(`wires: ${wire}: setup`, running, RUNNING)
}

/**
 * Finds errors in the routes of one wire that would otherwise show late or never: an incomplete route, one without a valid
 * access.
 *
 * @throws StartError with the wire and the route
 */
export function checkRoutes(wire: string, routes: readonly Route[]): void {
  for (const one of routes) checkRoute(wire, one)
}

/**
 * Finds what does not fit together in the routes of all wires: two with the same address, two limits that are counted together
 * and differ, two schemas with the same name.
 *
 * @throws StartError with the wire and the route
 */
export function checkConflicts(groups: readonly RouteGroup[]): void {
  const owners = new Map(DESCRIPTION.map(({ method, path }) => [`${method} ${path}`, 'the frame']))
  const limits = new Map<string, Route>()
  for (const { wire, routes } of groups)
    for (const one of routes) {
      const { key } = one
      const address = key.replaceAll(/:\w+/g, ':')
      const owner = owners.get(address)
      if (owner !== undefined)
        throw new StartError(`wires: ${key} of ${wire} is answered by ${owner} already`)
      owners.set(address, wire)
      checkSharedLimit(wire, one, limits)
    }
  const fault = titleFault(groups)
  if (fault !== undefined) throw new StartError(`wires: ${fault}`)
}

/** @throws StartError if a route is for signed-in callers, and no wire has accounts */
export function refuseSignedInCallers(groups: readonly RouteGroup[]): void {
  for (const { wire, routes } of groups)
    if (routes.some(({ spec: { access } }) => access !== 'public' && access !== 'optional'))
      throw new StartError(
        `SIXWIRE_WIRES: ${wire} answers signed-in callers only, and no loaded wire keeps accounts: add auth`,
      )
}

function checkRoute(wire: string, route: unknown): void {
  const { key, method, path, spec, handle } = (route ?? {}) as Partial<Route>
  if (typeof key !== 'string')
    throw new StartError(
      `wires: ${wire}: one of its routes is not made by route('GET /path', { … }, handler)`,
    )
  const where = `wires: ${wire}: ${shown(key)}`
  const fault = faultOfKey(key)
  if (fault !== undefined) throw new StartError(`${where}: ${fault}`)
  // The checks read the key, the engine the other two.
  const address = `${method} ${path}`
  if (key !== address)
    throw new StartError(
      `${where}: its method and path are ${shown(address)}: make it by route('${key}', { … }, handler)`,
    )
  if (!isPlain(spec))
    throw new StartError(`wires: ${wire}: ${key}: the second argument of route must be an object`)
  checkFields(`wires: ${wire}: ${key}`, spec, SPEC)
  if (key.startsWith('GET ') && spec.body !== undefined)
    throw new StartError(`wires: ${wire}: ${key}: a GET has no body: use query, or another method`)
  if (spec.stream && method !== 'GET')
    throw new StartError(`wires: ${wire}: ${key}: only a GET can answer a stream`)
  if (spec.idempotent && spec.body?.kind === 'stream')
    throw new StartError(
      `wires: ${wire}: ${key}: a streamed body cannot be compared with an earlier one: leave out idempotent`,
    )
  checkBody(`wires: ${wire}: ${key}: body`, spec.body)
  checkLimit(`wires: ${wire}: ${key}`, spec.limit)
  checkAccess(`wires: ${wire}: ${key}`, spec)
  checkScope(`wires: ${wire}: ${key}`, wire, spec)
  const inPath = namesIn(key)
  const unknown = Object.keys((spec.params as { properties?: object })?.properties ?? {}).find(
    (name) => !inPath.includes(name),
  )
  if (unknown !== undefined)
    throw new StartError(
      `wires: ${wire}: ${key}: params: the path has no ":${unknown}"${didYouMean(unknown, inPath)}`,
    )
  if (typeof handle !== 'function')
    throw new StartError(
      `wires: ${wire}: ${key}: the handler, the third argument of route, must be a function`,
    )
}

/** @param limits the first route of each shared limit, by its name; that of `one` is added */
function checkSharedLimit(wire: string, one: Route, limits: Map<string, Route>): void {
  const limit = limitOf(one.spec)
  if (!limit) return
  const { name = one.key } = limit
  const first = limits.get(name) ?? one
  limits.set(name, first)
  const { rate, countedIn, counted } = limitOf(first.spec)!
  if (isDeepStrictEqual(limit, { ...limit, rate, countedIn, counted })) return
  throw new StartError(
    `wires: ${one.key} of ${wire} counts together with ${first.key} as "${name}": their limits must be equal`,
  )
}

function checkLimit(where: string, limit: unknown): void {
  if (limit === undefined) return
  if (isPlain(limit)) checkFields(`${where}: limit`, limit, LIMIT)
  else checkFields(where, { limit }, { limit: RATE })
}

function checkAccess(where: string, { access, irreversible }: RouteSpec): void {
  if (irreversible && access !== 'admin')
    throw new StartError(
      `${where}: irreversible has no effect with access "${access}": write access: 'admin'`,
    )
}

function checkScope(where: string, wire: string, { scope, access }: RouteSpec): void {
  if (scope === undefined) return
  if (
    !/^:[a-z][a-z\d-]*$/.test(scope.slice(wire.length)) ||
    !scope.startsWith(wire) ||
    scope === `${wire}:read`
  )
    throw new StartError(
      `${where}: scope can't be ${shown(scope)}: it takes the wire's name and a word other than read, like "${wire}:refund"`,
    )
  if (access === 'public' || access === 'session')
    throw new StartError(`${where}: access "${access}" takes no service keys: leave out scope`)
}

function checkBody(where: string, body: RouteBody | undefined): void {
  if (body === undefined) return
  const { kind } = (isPlain(body) ? body : {}) as Partial<RouteBody>
  if (kind === undefined || !Object.hasOwn(BODIES, kind))
    throw new StartError(
      isSchema(body)
        ? `${where} says what it holds, but not how it is sent: write json(Type.Object({ … }))`
        : `${where} can't be ${shown(body)}: it takes json(Type.Object({ … })), form(…), raw(…), stream(…) or multipart(…)`,
    )
  checkFields(where, body, BODIES[kind])
  if (body.kind === 'json' && body.files) checkFields(`${where}: files`, body.files, FILES)
  if (body.kind !== 'multipart') return
  checkFields(`${where}: file`, body.file, FILE)
  if (Object.hasOwn((body.fields as { properties?: object }).properties ?? {}, body.file.field))
    throw new StartError(`${where}: "${body.file.field}" is the file and can't be one of fields: rename one`)
}

const namesIn = (key: string): string[] => [...key.matchAll(/:(\w+)/g)].map(([, name]) => name!)

function faultOfKey(key: string): string | undefined {
  const [method = '', path, ...rest] = key.split(' ')
  if (path === undefined || rest.length > 0)
    return 'a route is named by its method, one space and its path, like "GET /books/:id"'
  if (!(METHODS as readonly string[]).includes(method))
    return `the method must be one of ${METHODS.join(', ')}${didYouMean(method, METHODS)}`
  if (!path.startsWith('/')) return 'the path must begin with "/"'
  if (/^\/(docs|sandbox)(\/|$)/.test(path)) return 'the paths below /docs and /sandbox are taken'
  if (/[?#]/.test(path)) return 'the path must end before the "?" or "#": parameters go into the field query'
  if (/:(?!\w)/.test(path)) return 'a ":" in the path must be followed by a name, like "/books/:id"'
  if (new Set(namesIn(key)).size < namesIn(key).length) return 'two parameters of the path have the same name'
  if (/\*./.test(path)) return 'a "*" must be the last character of the path'
  return undefined
}
