import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

import type { Static, TSchema } from 'typebox'

import type { Logger } from '../base/logger.ts'
import type { ErrorKind } from '../base/errors.ts'
import { Type } from '../base/schema.ts'
import type { Access, Caller, RequiredProof, UserCaller } from './access.ts'
import type { Actor } from './actor.ts'
import type { BodyFiles, MultipartBody, ReceivedBody, RouteBody, UploadedFiles } from './bodies.ts'
import type { RecordEvent } from './event-log.ts'
import type { EventStream } from './event-stream.ts'
import type { ClaimedKey } from './idempotency.ts'

/** Every method that a route may have. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export type Method = (typeof METHODS)[number]

/** The name of a route, also in the typed client: `POST /auth/login`. */
export type RouteKey = `${Method} /${string}`

/** Calls per period for each client address or caller: `30/min`, `5/hour`. */
export type RateLimit = `${number}/${'min' | 'hour'}`

export type RouteLimit = {
  rate: RateLimit
  /** Routes with the same name are counted together; their limits must be equal. Default: the route is counted alone. */
  name?: string
  /**
   * In the database, for all replicas together, or in this process, for a route that must answer while the database is
   * unavailable. Default `database`.
   */
  countedIn?: 'database' | 'process'
  /** Whether it applies even if `SIXWIRE_RATE_LIMITS` is off. */
  always?: boolean
  /** Whether service keys are counted too. Default: users and client addresses only. */
  keys?: boolean
}

export type RouteSpec = {
  /** One line for the list of routes. */
  summary: string
  description?: string
  access: Access
  /**
   * With access `admin`: whether what it does to money or records cannot be taken back, such as a refund. In production it
   * then requires the role `admin` under the policy `open` too.
   */
  irreversible?: boolean
  /**
   * Whether a user must have proven within the last 10 minutes who they are: `recent`, or `console` for a session of the console
   * only. Of an account with a second factor only that is a proof. Service keys need none.
   */
  proof?: RequiredProof
  /** Whether a route that is no GET changes nothing, such as a preview: viewers may call it, and keys of the scope `:read`. */
  changesNothing?: boolean
  /** Whether the answer is not for viewers: keys, tokens, the content of messages. */
  sealed?: boolean
  /**
   * A scope of this route, and of others with the same: a service key may call it with `*`, the wire's name, or this one,
   * which is the wire's name and a word: `pay:refund`. Not for `public` and `session`, which take no service keys.
   */
  scope?: string
  /**
   * Checks credentials in the headers, for example the shared secret of a webhook, before the body is read. Throws the
   * error to answer.
   */
  authorize?: (headers: IncomingHttpHeaders) => void
  /** How often it may be called. Routes that need no token always have a limit: see `limitOf`. */
  limit?: RateLimit | RouteLimit
  /**
   * Whether the handler only reads, and only from the database. It may then start while the caller's token is checked, if
   * that takes a round trip; nothing is answered before the token is found valid.
   */
  readsOnly?: boolean
  /** Takes an `Idempotency-Key`: every POST that creates, sends, charges or signs. */
  idempotent?: boolean | BriefReplay
  /**
   * What the keys of the route belong to, if not to the caller, such as the record that it changes: the same key then has
   * one effect for all callers. Every caller of the route must be allowed to read the answers of all others.
   *
   * @param request its validated parameters and body
   * @example
   * keysOf: ({ params }) => `order:${(params as { id: string }).id}`
   */
  keysOf?: (request: { params: unknown; body: unknown }) => string
  /**
   * Makes the body of a stored answer what its caller may see now, if that can change: it is sent in place of the stored one.
   * Errors are replayed as they are.
   */
  replayed?: (
    body: string,
    request: { params: unknown; caller: Caller | undefined },
  ) => string | Promise<string>
  params?: TSchema
  query?: TSchema
  /** `json(schema)`, `form(schema)`, `raw({ maxBytes })`, `stream({ maxBytes, contentTypes })` or `multipart({ file, fields })`. */
  body?: RouteBody
  /** The time after which `call.signal` aborts, in milliseconds from the start of the handler. Default: none. */
  timeLimitMs?: number
  headers?: TSchema
  /**
   * Whether the handler of a GET may answer an `eventStream`, beside `reply` or, with `NoBody` for 200, in place of it.
   */
  stream?: boolean
  /** Headers of every answer, also of errors, and of the answer to OPTIONS of its address. The handler may set other values. */
  answerHeaders?: Readonly<Record<string, string>>
  /** A schema for each status that the handler answers; the lowest status is the default. */
  reply: Record<number, TSchema>
  /** The errors that it may answer, beyond those that follow from its access, body and limit. */
  errors?: readonly ErrorKind[]
  /** Fields in `error.details` of every error it answers; details of the error itself take precedence. */
  errorDetails?: ErrorDetails
}

/**
 * For a route whose answer contains tokens: it is replayed for a short time, and only while the tokens are current.
 * After that a repetition is a new call with another `recordId`, and the handler must refuse it like any other call of
 * its kind: a special answer would tell a caller who knows the key that the body, with its password, is right.
 */
export type BriefReplay = {
  seconds: number
  /** Whether the answer with this body may still be replayed. */
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

type OnceOf<B> = B extends MultipartBody
  ? Once
  : B extends { files: BodyFiles }
    ? Once | undefined
    : undefined

/** See `makeRoom` of a call. */
export type MakeRoom = (bytes: number) => Promise<void>

/** The argument of a handler: the validated parts of the request, and the caller. */
export type Call<S extends RouteSpec = RouteSpec> = {
  params: Part<S, 'params'>
  query: Part<S, 'query'>
  body: S extends { body: infer B extends RouteBody } ? ReceivedBody<B> : undefined
  headers: Part<S, 'headers'>
  caller: CallerOf<S['access']>
  /** Who calls, and from where, for the audit log. */
  actor: Actor
  /** The client's address; a forwarded one only from a proxy that `TRUST_PROXY` names. */
  ip: string
  userAgent: string
  /** Whether the call comes from this machine to a loopback name, without a proxy between. */
  isLocal: boolean
  requestId: string
  /**
   * Whether a route of GET was called with HEAD: the answer is its headers, so a handler that answers bytes need not read
   * them. It sets `content-length` itself then.
   */
  isHead: boolean
  /**
   * The id for the record that this call creates. A repetition under the same `Idempotency-Key` gets the same id, also
   * after a crash, so creating the record again changes nothing.
   */
  recordId: string
  /** Whether an earlier call under the same `Idempotency-Key` may have created the record. */
  isRepeated: boolean
  /**
   * The `Idempotency-Key` of the call, if it sent one: a transaction that stores the answer with it (`finishSql` of the context)
   * is done once, whatever it changes.
   */
  claimedKey: ClaimedKey | undefined
  /**
   * Only if the route takes an `Idempotency-Key` with a multipart body, or with JSON and files that were sent; `recordId` is
   * then the one of `once`.
   */
  once: S extends { idempotent: true | BriefReplay; body: infer B } ? OnceOf<B> : undefined
  /** The files that came with a body of JSON; undefined if it is JSON alone. */
  upload: S extends { body: { files: BodyFiles } } ? UploadedFiles | undefined : undefined
  /** Aborts if the client disconnects before it is answered, or after the route's `timeLimitMs`. */
  signal: AbortSignal
  /**
   * Waits until the process has room for an answer of this many bytes. Call it before anything larger than 64 KiB is read;
   * the room is free again when the answer has been sent.
   *
   * @throws TOO_MANY_CONCURRENT, UNAVAILABLE
   */
  makeRoom: MakeRoom
  log: Logger
  /** Writes a line to the log for what happens to an account, with the client's address and the id of the request. */
  record: RecordEvent
}

/**
 * Creates a record once under an `Idempotency-Key`, for content that is known only after it is received. If the key was
 * used before with an equal fingerprint, this returns the first answer and does not perform the work; the handler returns
 * the result of this, and deletes what it received.
 *
 * @param fingerprint identifies the received content, as JSON: for example the SHA-256 of the file, and the fields
 * @throws IDEMPOTENCY_CONFLICT if the key was used with another fingerprint, or its first call is running
 * @example
 * async ({ body, once }) => {
 *   const upload = await storeBytes(body.file.stream)
 *   try {
 *     const fields = await body.fields()
 *     return await once([upload.sha256, fields], (recordId) => createFile(recordId, upload, fields))
 *   } finally {
 *     await upload.deleteUnlessUsed()
 *   }
 * }
 */
export type Once = <T>(
  fingerprint: unknown,
  perform: (recordId: string, isRepeated: boolean) => T | Promise<T>,
) => Promise<T>

/** In `reply` of a route that answers bytes: the handler returns an `answer` with a stream or a buffer. */
export const Bytes = Type.Unsafe<Blob>({ contentMediaType: 'application/octet-stream' })

/** In `reply` of a status without a body, such as 304. */
export const NoBody = Type.Unsafe<never>({ not: {} })

/** The bodies a route may answer. */
export type ReplyOf<S extends RouteSpec> = {
  [K in keyof S['reply']]: S['reply'][K] extends TSchema ? Static<S['reply'][K]> : never
}[keyof S['reply']]

/** A body that is JSON text already and is sent as it is. */
export class JsonText<T> {
  declare readonly type: T
  declare readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Sends JSON text as it is; the caller must ensure that it has the shape `T`. */
export const jsonText = <T>(text: string): JsonText<T> => new JsonText<T>(text)

/** A body with a status or headers of its own. */
export class Answer<T> {
  declare readonly body: T | JsonText<T> | string | Buffer | Readable
  declare readonly status: number | undefined
  declare readonly headers: Record<string, string>
  constructor(body: Answer<T>['body'], options: { status?: number; headers?: Record<string, string> }) {
    this.body = body
    this.status = options.status
    this.headers = options.headers ?? {}
  }
}

/** An answer with its own status or headers; a string is sent as it is, with the content type of the headers. */
export const answer = <T>(
  body: Answer<T>['body'],
  options: { status?: number; headers?: Record<string, string> },
): Answer<T> => new Answer<T>(body, options)

type Result<T> = T | JsonText<T> | Answer<T>

type StreamOf<S extends RouteSpec> = S extends { stream: true } ? EventStream : never

export type Handler<S extends RouteSpec> = (
  call: Call<S>,
) => Result<ReplyOf<S>> | StreamOf<S> | Promise<Result<ReplyOf<S>> | StreamOf<S>>

/** A route for the rest of the program; the typed client reads its types. */
export type Route<K extends RouteKey = RouteKey, S extends RouteSpec = RouteSpec> = {
  readonly key: K
  readonly spec: S
  readonly method: Method
  readonly path: string
  // The handler declares a narrower call; the frame has validated it and passes the wide type.
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

/** What a route takes, answers and does, without its method and path. */
export type Endpoint<S extends RouteSpec = RouteSpec> = readonly [spec: S, handler: Handler<S>]

/**
 * A route without its method and path, for a wire whose table of routes stands apart from what they do.
 *
 * @example
 * const getBook = endpoint({ summary: 'Get a book', … }, ({ params }) => books.get(params.id))
 * const routes = [route('GET /books/:id', ...getBook)] as const
 */
export const endpoint = <const S extends RouteSpec>(spec: S, handler: Handler<S>): Endpoint<S> => [
  spec,
  handler,
]

/**
 * Makes routes with a value in place of a parameter, which are described and not served: a route with the parameter answers
 * them. Called when the description is read for the first time.
 *
 * @param isTaken whether another schema has a title
 */
export type RouteVariants = (isTaken: (title: string) => boolean) => readonly Route[]

/** Routes of one wire; `bodyLimit` is the largest body in bytes of those that set no limit themselves. */
export type RouteGroup = {
  wire: string
  description?: string | undefined
  routes: readonly Route[]
  variants?: RouteVariants | undefined
  /** What the variants are made of: when it is another value, they are described anew. */
  variantsOf?: (() => unknown) | undefined
  bodyLimit?: number
}
