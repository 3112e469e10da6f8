import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

import type { FastifyBaseLogger } from 'fastify'
import type { Static, TSchema } from 'typebox'

import type { ErrorKind } from '../base/errors.ts'
import type { Access, Caller, UserCaller } from './access.ts'
import type { MultipartBody, ReceivedBody, RouteBody } from './bodies.ts'

/** Every method that a route may have. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type Method = (typeof METHODS)[number]

/** `POST /auth/login`: how a route is named everywhere, also by the typed client. */
export type RouteKey = `${Method} /${string}`

/** `30/min` or `5/hour`: so many calls, spread over so long, for each client address or caller. */
export type RateLimit = `${number}/${'min' | 'hour'}`

export type RouteSpec = {
  /** One line for the list of routes. */
  summary: string
  description?: string
  access: Access
  /**
   * Checks what a webhook's sender proves by its headers, for example a shared secret, before the body is read.
   * Throws what is answered instead.
   */
  authorize?: (headers: IncomingHttpHeaders) => void
  /** How often it may be called. Routes that need no token have a limit in any case: see `limitOf`. */
  limit?: RateLimit
  /**
   * Where calls are counted: in the database, for all replicas together, or in this process, for a route that has to
   * answer while the database is away. Default `database`.
   */
  limitIn?: 'database' | 'process'
  /** Which limits hold even where `SIXWIRE_RATE_LIMITS` is off. */
  limitAlways?: boolean
  /** Routes with the same name count together; without one each counts for itself. */
  limitName?: string
  /**
   * Whether the handler only reads, from the database alone. It may then begin while it is being asked whether the
   * caller's token still holds, if that takes a round trip; nothing is answered before it does.
   */
  readsOnly?: boolean
  /** Takes an `Idempotency-Key`: every POST that creates, sends, charges or signs. */
  idempotent?: boolean | BriefReplay
  params?: TSchema
  query?: TSchema
  /** `json(schema)`, `form(schema)`, `raw({ maxBytes })` or `multipart({ file, fields })`. */
  body?: RouteBody
  /** The time after which `call.signal` aborts, in milliseconds from the start of the handler. Default: none. */
  timeLimitMs?: number
  headers?: TSchema
  /** A schema for each status that the handler answers; the lowest one is the usual. */
  reply: Record<number, TSchema>
  /** What it may answer beyond the errors that its access, body and limit bring along. */
  errors?: readonly ErrorKind[]
  /** Fields that stand in `error.details` of every error it answers; an error's own details win. */
  errorDetails?: ErrorDetails
}

/**
 * Of a route whose answer holds tokens: it is replayed for a short time, and only while the tokens may be given again.
 * From then on a repetition is a new call with another `recordId`, and the handler must refuse it as it refuses every
 * other one of its kind. An answer of its own would tell who knows the key that the body, with its password, is right.
 */
export type BriefReplay = {
  seconds: number
  /** Whether the answer with this body may be given again now. */
  isCurrent(body: unknown): Promise<boolean>
}

export type ErrorDetails = Readonly<Record<string, string | null>>

type Part<S, K extends string> = S extends { [k in K]: infer T extends TSchema } ? Static<T> : undefined
type CallerOf<A extends Access> = A extends 'public'
  ? undefined
  : A extends 'optional'
    ? Caller | undefined
    : A extends 'session'
      ? UserCaller
      : Caller

/** What a handler is given: the validated parts of the request and who calls. */
export type Call<S extends RouteSpec = RouteSpec> = {
  params: Part<S, 'params'>
  query: Part<S, 'query'>
  body: S extends { body: infer B extends RouteBody } ? ReceivedBody<B> : undefined
  headers: Part<S, 'headers'>
  caller: CallerOf<S['access']>
  /** The client's address; a forwarded one only from a proxy that `TRUST_PROXY` names. */
  ip: string
  userAgent: string
  /** Whether the call comes from this machine, to a loopback name, and nobody forwarded it. */
  isLocal: boolean
  requestId: string
  /**
   * The id for the record that this call makes. A repetition under the same `Idempotency-Key`,
   * after a crash too, is given the same one, so making the record again changes nothing.
   */
  recordId: string
  /** Only if the route takes an `Idempotency-Key` with a multipart body; `recordId` is then the one of `once`. */
  once: S extends { body: MultipartBody; idempotent: true | BriefReplay } ? Once : undefined
  /** Aborts if the client goes before it is answered, or after the route's `timeLimitMs`. */
  signal: AbortSignal
  log: FastifyBaseLogger
}

/**
 * Makes a record once under an `Idempotency-Key`, whose content is known only after it was received. If the key was
 * used before with an equal fingerprint, this answers the first answer and does not perform the work; the handler
 * returns what this answers, and removes what it received.
 *
 * @param fingerprint says what was received, as JSON: for example the SHA-256 of the file, and the fields
 * @throws IDEMPOTENCY_CONFLICT if the key was used with another fingerprint, or its first call is under way
 * @example
 * async ({ body, once }) => {
 *   const stored = await storeBytes(body.file.stream)
 *   try {
 *     const fields = await body.fields()
 *     return await once([stored.sha256, fields], (recordId) => keepFile(recordId, stored, fields))
 *   } finally {
 *     await stored.removeUnlessKept()
 *   }
 * }
 */
export type Once = <T>(fingerprint: unknown, perform: (recordId: string) => T | Promise<T>) => Promise<T>

/** The bodies a route may answer. */
export type ReplyOf<S extends RouteSpec> = {
  [K in keyof S['reply']]: S['reply'][K] extends TSchema ? Static<S['reply'][K]> : never
}[keyof S['reply']]

/** A body that is JSON text already and is sent as it is. */
export class JsonText<T> {
  declare readonly type: T
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Sends JSON text as it is; the caller vouches that it has the shape `T`. */
export const jsonText = <T>(text: string): JsonText<T> => new JsonText<T>(text)

/** A body with a status or headers of its own. */
export class Answer<T> {
  readonly body: T | JsonText<T> | string | Buffer | Readable
  readonly status: number | undefined
  readonly headers: Record<string, string>
  constructor(body: Answer<T>['body'], options: { status?: number; headers?: Record<string, string> }) {
    this.body = body
    this.status = options.status
    this.headers = options.headers ?? {}
  }
}

/** Answers with a status or headers of one's own; a string is sent as it is, with the content type that the headers say. */
export const answer = <T>(
  body: Answer<T>['body'],
  options: { status?: number; headers?: Record<string, string> },
): Answer<T> => new Answer<T>(body, options)

type Returned<T> = T | JsonText<T> | Answer<T>

export type Handler<S extends RouteSpec> = (
  call: Call<S>,
) => Returned<ReplyOf<S>> | Promise<Returned<ReplyOf<S>>>

/** A route as the rest of the program sees it; its types are what the typed client reads. */
export type Route<K extends RouteKey = RouteKey, S extends RouteSpec = RouteSpec> = {
  readonly key: K
  readonly spec: S
  readonly method: Method
  readonly path: string
  // The handler takes its own narrower call; the frame, which validated it, hands it the wide one.
  handle(call: Call): unknown
}

/**
 * One route: what it takes, what it answers, and what it does.
 * The value is read four times: to validate, to serialise, for OpenAPI and by the typed client.
 */
export function route<const K extends RouteKey, const S extends RouteSpec>(
  key: K,
  spec: S,
  handler: Handler<S>,
): Route<K, S> {
  const [method, path] = key.split(' ') as [Method, string]
  return { key, spec, method, path, handle: handler }
}

/** Routes of one wire, and the largest body in bytes of those that name none of their own. */
export type RouteGroup = {
  wire: string
  description?: string | undefined
  routes: readonly Route[]
  bodyLimit?: number
}
