import type { Logger } from '../base/logger.ts'
import type { Actor } from './actor.ts'
import type { Access, Admission, Caller, RequiredProof } from './access.ts'
import { maxBytesOf, type RouteBody } from './bodies.ts'
import type { RecordEvent } from './event-log.ts'
import type { EventStreams } from './event-streams.ts'
import type { ExpectedCallers } from './expected-callers.ts'
import { BODY_LIMIT } from './failures.ts'
import type { IdempotencyStore } from './idempotency.ts'
import { limitOf, parseRateLimit, type CallerKind, type RateLimiter } from './limits.ts'
import { createFieldChecks, jsonChecksOf, type FieldChecks } from './multipart.ts'
import type { Route, RouteGroup, RouteLimit } from './route.ts'
import type { Validate, Validation } from './validation.ts'

/** What every route needs of the application. */
export type DispatchOptions = {
  policy: Admission
  /** The caller that a bearer token belongs to; undefined if it is not valid. */
  authenticate: (token: string) => Caller | undefined | Promise<Caller | undefined>
  /** The last callers of tokens, if reads may start while a token is authenticated again; see `readsOnly`. */
  expectedCallers: ExpectedCallers | undefined
  /** The counters of calls: see `RouteLimit`. */
  limiters: Readonly<Record<NonNullable<RouteLimit['countedIn']>, RateLimiter>>
  /** Whether limits apply also if they are not `always`. */
  limitsOn: boolean
  idempotency: IdempotencyStore
  /** Makes an id for a record or a request. */
  newId: () => string
  log: Logger
  /** Counts an event of an account for the metrics. */
  countEvent: RecordEvent
  /** Called with a call of an operator's route that its caller may not make. Never rejects. */
  onDenied: (call: { actor: Actor; path: string }) => Promise<void>
}

/** What every route needs of its server: the application's part, and what its requests share. */
export type DispatchContext = DispatchOptions & {
  streams: EventStreams
  validation: Validation
}

/** A route with everything that is known before its first request. */
export type RouteContext = Route & {
  readonly server: DispatchContext
  /** What the policy decides by. */
  readonly target: {
    access: Access
    wire: string
    method: string
    scope: string | undefined
    irreversible: boolean | undefined
    proof: RequiredProof | undefined
    changesNothing: boolean
    sealed: boolean
  }
  readonly limit: CallLimit | undefined
  /** The largest body in bytes. */
  readonly bodyMax: number
  /** Whether neither the route nor its wire names the largest body: strangers may send less then. */
  readonly hasDefaultBodyMax: boolean
  /** Of a multipart body, and of a body that may be one. */
  readonly fieldChecks: FieldChecks | undefined
  /** Of a body of JSON that may come with files: the engine checks it of other routes. */
  readonly jsonCheck: Validate | undefined
  /** The status of an answer that names none. */
  readonly defaultStatus: number
  /** If reads may start before their token is authenticated again. */
  readonly expectedCallers: ExpectedCallers | undefined
}

/** How many calls of the kinds of callers that count, and where they are counted. */
type CallLimit = {
  counted: readonly CallerKind[]
  count: number
  periodMs: number
  limiter: RateLimiter
  name: string
}

// A mebibyte of JSON can block the event loop for a fifth of a second.
export const ANONYMOUS_BODY_LIMIT = 65_536

export function createRouteContext({
  server,
  group: { wire, bodyLimit },
  route,
}: {
  server: DispatchContext
  group: RouteGroup
  route: Route
}): RouteContext {
  const { spec, method } = route
  const { access, scope, irreversible, proof, changesNothing = method === 'GET', sealed = false, body } = spec
  const limit = callLimitOf(server, route)
  const bodyMax = maxBytesOf(body) ?? bodyLimit
  const mayStartEarly =
    spec.readsOnly && !body && !spec.idempotent && !spec.authorize && !limit?.counted.includes('user')
  return {
    ...route,
    server,
    target: { access, wire, method, scope, irreversible, proof, changesNothing, sealed },
    limit,
    bodyMax: bodyMax ?? (access === 'public' ? ANONYMOUS_BODY_LIMIT : BODY_LIMIT),
    hasDefaultBodyMax: bodyMax === undefined,
    ...checksOf(body, server.validation),
    defaultStatus: Number(Object.keys(spec.reply)[0]),
    expectedCallers: mayStartEarly ? server.expectedCallers : undefined,
  }
}

function checksOf(
  body: RouteBody | undefined,
  validation: Validation,
): Pick<RouteContext, 'fieldChecks' | 'jsonCheck'> {
  if (body?.kind === 'multipart')
    return { fieldChecks: createFieldChecks({ body, validation }), jsonCheck: undefined }
  if (body?.kind !== 'json' || !body.files) return { fieldChecks: undefined, jsonCheck: undefined }
  const jsonCheck = validation('body', body.schema)
  return { fieldChecks: jsonChecksOf(body.files, jsonCheck), jsonCheck }
}

function callLimitOf(server: DispatchContext, { key, spec }: Route): CallLimit | undefined {
  const limit = limitOf(spec)
  if (!limit || !(server.limitsOn || limit.always)) return undefined
  const { rate, name = key, countedIn, counted } = limit
  return { ...parseRateLimit(rate), name, counted, limiter: server.limiters[countedIn] }
}
