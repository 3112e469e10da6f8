import cors from '@fastify/cors'
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'

import { ApiError, errors } from '../base/errors.ts'
import { decodeUtf8, parseStrictJson } from '../base/json.ts'
import {
  idempotencyKey,
  isFinal,
  refuseUnlessNew,
  type IdempotencyStore,
  type KeptAnswer,
} from './idempotency.ts'
import { clientOf, parseRateLimit, type RateLimiter } from './limits.ts'
import { registerDescription } from './openapi.ts'
import type { Caller, Policy } from './policy.ts'
import { Answer, answer, JsonText, type Call, type Method, type Route } from './route.ts'
import { createValidation, type RequestPart } from './validation.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const BODY_LIMIT = 1_048_576
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const CLIENT_GONE = 499 // as nginx logs it: no answer reached the client
const REQUEST_ID = /^[\w.:-]{1,128}$/

/** Routes of one wire, as the server takes them. */
export type RouteGroup = { wire: string; routes: readonly Route[] }

/** What is told of each answer. */
export type Answered = {
  requestId: string
  method: string
  /** The route's pattern; undefined where no route answered. */
  route: string | undefined
  /** As it was asked, without its query. */
  path: string
  status: number
  ms: number
}

export type ServerOptions = {
  groups: readonly RouteGroup[]
  policy: Policy
  /** Who sends this bearer token; undefined where nobody does. */
  authenticate: (token: string) => Promise<Caller | undefined>
  limiter: RateLimiter
  /** Whether the limits hold that a route does not want always. */
  limitsOn: boolean
  idempotency: IdempotencyStore
  /** Makes an id for a record or a request. */
  newId: () => string
  log: FastifyBaseLogger
  /** Called once for each answer, for the log and the metrics. */
  onAnswer: (answered: Answered) => void
  /** Title and version of the description at `/openapi.json`. */
  description: { title: string; version: string; url: string }
  /** Origins of browsers that may read answers; `*` for any. */
  origins: readonly string[]
  production: boolean
  /** Which proxies may say whom they forward: a number of hops, or addresses and networks. */
  trustProxy: number | string
  /** What is answered instead of everything but core's routes: while the server starts and while it goes down. */
  refusal: () => ApiError | undefined
}

export type Server = {
  /** The engine underneath, for `inject`, and for plugins of the frame. */
  readonly engine: FastifyInstance
  /** Opens the port; answers the address it listens on. */
  listen(options: { host: string; port: number }): Promise<string>
  /** Resolves when no request is under way, and no work for one whose client has gone. */
  idle(): Promise<void>
  /** Closes the port, and every connection: what is still under way is cut off. */
  close(): Promise<void>
}

// The API answers JSON, never a page that a browser should run, frame or sniff.
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
}
const HSTS = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }

/** Makes the HTTP server: everything between a socket and a handler. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const settings: FastifyServerOptions = {
    loggerInstance: options.log,
    // One line for each answer, below, instead of two.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: BODY_LIMIT,
    trustProxy: trustOf(options.trustProxy),
    genReqId: (raw) => {
      const given = raw.headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : options.newId()
    },
    requestTimeout: 60_000,
    // By then nothing is under way any more, or has had its time.
    forceCloseConnections: true,
    return503OnClosing: false,
    frameworkErrors: answerError,
    clientErrorHandler(_error, socket) {
      if (socket.destroyed || !socket.writable) return
      const body = JSON.stringify(
        envelope(errors.validation_error({ message: 'This is not HTTP that can be read.' })),
      )
      socket.end(
        `HTTP/1.1 400 Bad Request\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      )
    },
    routerOptions: { maxParamLength: 500 },
  }
  const engine: FastifyInstance = fastify(settings)

  const alwaysAnswered = new Set(
    options.groups
      .filter(({ wire }) => wire === 'core')
      .flatMap(({ routes }) => routes.map(({ path }) => path)),
  )
  const work = countWork()

  const fixedHeaders = options.production ? { ...SECURITY_HEADERS, ...HSTS } : SECURITY_HEADERS
  engine.addHook('onRequest', (request, reply, done) => {
    work.begin()
    // The engine's own onResponse is silent about a client that goes before its answer: this is not.
    reply.raw.once('close', () => {
      work.end()
      options.onAnswer({
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url,
        path: request.url.split('?', 1)[0]!,
        status: reply.raw.writableFinished ? reply.statusCode : CLIENT_GONE,
        ms: reply.elapsedTime,
      })
    })
    reply.headers(fixedHeaders).header('x-request-id', request.id)
    done()
  })

  engine.removeAllContentTypeParsers()
  engine.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) => {
    if (bytes.length === 0) return done(null, undefined)
    try {
      done(null, parseStrictJson(decodeUtf8(bytes as Buffer)))
    } catch (error) {
      done(error as Error)
    }
  })
  const validation = createValidation()
  const parts: Record<string, RequestPart> = {
    body: 'body',
    querystring: 'query',
    params: 'params',
    headers: 'headers',
  }
  engine.setValidatorCompiler(({ schema, httpPart }) => validation(parts[httpPart!]!, schema as never))

  engine.setErrorHandler(answerError)
  engine.setNotFoundHandler((request, reply) =>
    answerError(
      errors.not_found({
        message: `Nothing answers at ${request.url.split('?', 1)[0]!.slice(0, 200)}: /docs shows every route.`,
      }),
      request,
      reply,
    ),
  )

  await engine.register(cors, {
    origin: options.origins.includes('*') ? '*' : [...options.origins],
    methods: [...METHODS],
    exposedHeaders: ['etag', 'idempotency-replayed', 'retry-after', 'x-request-id'],
    maxAge: 600,
    // OPTIONS from whatever is not a browser is answered in the same way.
    strictPreflight: false,
  })
  // After the headers above, so that a page of another origin can read the refusal too.
  engine.addHook('onRequest', (request, _reply, done) => {
    const refused = alwaysAnswered.has(request.routeOptions.url ?? '') ? undefined : options.refusal()
    if (refused) done(refused)
    else done()
  })
  await registerDescription(engine, options.description, options.groups)
  for (const group of options.groups)
    for (const one of group.routes) registerRoute(engine, options, group.wire, one, work)
  refuseOtherMethods(engine, options.groups)

  return {
    engine,
    listen: (where) => engine.listen(where),
    idle: work.idle,
    close: () => engine.close(),
  }
}

/** Counts what is under way: requests until their last byte has gone, and handlers, which may outlast their client. */
function countWork() {
  let underWay = 0
  let idle = Promise.withResolvers<void>()
  const begin = (): void => void underWay++
  const end = (): void => {
    underWay--
    if (underWay === 0) {
      idle.resolve()
      idle = Promise.withResolvers()
    }
  }
  return {
    begin,
    end,
    async idle(): Promise<void> {
      if (underWay > 0) await idle.promise
    },
    /** The same work, counted. */
    during:
      <A extends unknown[], R>(work: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        begin()
        try {
          return await work(...given)
        } finally {
          end()
        }
      },
  }
}

// Who calls, between the hook that admits a request and its handler.
const callers = new WeakMap<FastifyRequest, Caller>()

function registerRoute(
  engine: FastifyInstance,
  options: ServerOptions,
  wire: string,
  one: Route,
  work: ReturnType<typeof countWork>,
): void {
  const { spec, method, path } = one
  const limit = spec.limit && (options.limitsOn || spec.limitAlways) ? parseRateLimit(spec.limit) : undefined
  const [usualStatus] = Object.keys(spec.reply).map(Number)

  async function admit(request: FastifyRequest): Promise<void> {
    if (spec.access !== 'public') {
      const token = bearerToken(request.headers.authorization)
      const caller = token === undefined ? undefined : await options.authenticate(token)
      if (caller) callers.set(request, caller)
      else if (token !== undefined)
        throw errors.unauthorized({
          message: 'This token is not valid, or no longer: sign in again or refresh it.',
        })
      options.policy.admit(caller, { access: spec.access, wire, method })
    }
    if (limit) {
      const who = callers.get(request)?.id ?? clientOf(request.ip)
      const waitMs = await options.limiter.take(`${one.key} ${who}`, limit.count, limit.periodMs)
      if (waitMs !== undefined) throw errors.rate_limited({ retryAfter: Math.ceil(waitMs / 1000) })
    }
  }

  async function run(call: Call, reply: FastifyReply): Promise<KeptAnswer | Answer<unknown>> {
    const returned = await one.handle(call)
    const given: Answer<unknown> = returned instanceof Answer ? returned : answer(returned, {})
    const body: unknown = given.body
    const { status = usualStatus!, headers } = given
    if (typeof body === 'string' || Buffer.isBuffer(body) || isStream(body)) return given
    const text =
      body instanceof JsonText
        ? body.text
        : (reply.serializeInput(body as Record<string, unknown>, String(status)) as string)
    return { status, headers, body: text }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
    if (key === undefined) return send(reply, await run(callOf(request, options.newId()), reply))

    const caller = callers.get(request)
    const who = caller ? `${caller.kind}:${caller.id}` : 'anybody'
    const start = await options.idempotency.begin(
      who,
      key,
      JSON.stringify([one.key, request.params, request.body]),
    )
    if (start.state === 'done') return send(reply.header('idempotency-replayed', 'true'), start.answer)
    refuseUnlessNew(start)
    try {
      const answered = await run(callOf(request, start.recordId), reply)
      if (answered instanceof Answer)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer JSON`)
      await options.idempotency.finish(who, key, answered)
      return await send(reply, answered)
    } catch (error) {
      if (error instanceof ApiError && isFinal(error.status))
        await options.idempotency.finish(who, key, {
          status: error.status,
          headers: error.headers ?? {},
          body: JSON.stringify(envelope(error)),
        })
      else await options.idempotency.release(who, key)
      throw error
    }
  }

  engine.route({
    method,
    url: path,
    schema: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { querystring: spec.query }),
      ...(spec.body && { body: spec.body }),
      ...(spec.headers && { headers: spec.headers }),
      response: spec.reply,
    },
    onRequest: admit,
    handler: work.during(handle),
  })
}

const isStream = (body: unknown): boolean => typeof (body as { pipe?: unknown } | null)?.pipe === 'function'

function send(reply: FastifyReply, answered: KeptAnswer | Answer<unknown>): FastifyReply {
  if (answered instanceof Answer)
    return reply
      .code(answered.status ?? 200)
      .headers(answered.headers)
      .send(answered.body)
  return reply
    .code(answered.status)
    .headers(answered.headers)
    .header('content-type', JSON_TYPE)
    .send(answered.body)
}

function callOf(request: FastifyRequest, recordId: string): Call {
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    headers: request.headers,
    caller: callers.get(request),
    ip: request.ip,
    userAgent: request.raw.headers['user-agent'] ?? '',
    forwarded:
      request.raw.headers['x-forwarded-for'] !== undefined || request.raw.headers['forwarded'] !== undefined,
    requestId: request.id,
    recordId,
    log: request.log,
  } as unknown as Call
}

function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, token] = /^Bearer +([\w.~+/=-]{1,4096})$/i.exec(header) ?? []
  if (token === undefined)
    throw errors.unauthorized({ message: 'The Authorization header must be "Bearer <token>".' })
  return token
}

/** The nearest `hops` proxies are the operator's own, or those at these addresses. */
const trustOf = (trusted: number | string): FastifyServerOptions['trustProxy'] =>
  typeof trusted === 'string'
    ? trusted
    : trusted === 0
      ? false
      : (_address: string, hop: number) => hop < trusted

/** Every address answers the methods it does not have with 405 and the ones it has. */
function refuseOtherMethods(engine: FastifyInstance, groups: readonly RouteGroup[]): void {
  const methods = new Map<string, Method[]>()
  for (const { path, method } of groups.flatMap((group) => group.routes))
    methods.set(path, [...(methods.get(path) ?? []), method])
  for (const [url, allowed] of methods) {
    const allow = [...(allowed.includes('GET') ? ['HEAD'] : []), ...allowed, 'OPTIONS'].toSorted().join(', ')
    engine.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url,
      schema: { hide: true },
      handler: () => {
        throw errors.method_not_allowed({
          message: `This address answers ${allow} only.`,
          headers: { allow },
        })
      },
    })
  }
}

const envelope = (error: ApiError) => ({
  error: { code: error.code, message: error.message, ...(error.details && { details: error.details }) },
})

// Faults that the engine finds before a handler runs, https://fastify.dev/docs/latest/Reference/Errors/
const ENGINE_FAULTS: Record<number, (message: string) => ApiError> = {
  404: () => errors.not_found(),
  413: () => errors.payload_too_large({ message: `The body is larger than ${BODY_LIMIT} bytes.` }),
  415: () => errors.unsupported_media_type(),
  503: () => errors.unavailable({ retryAfter: 1 }),
}

function apiErrorOf(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  const {
    statusCode,
    message = '',
    code = '',
  } = error as { statusCode?: number; message?: string; code?: string }
  if (statusCode === undefined || !code.startsWith('FST_')) return undefined
  const known = ENGINE_FAULTS[statusCode]
  if (known) return known(message)
  return statusCode < 500
    ? errors.validation_error({ message: `The request can't be read: ${message}` })
    : undefined
}

function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = apiErrorOf(error)
  // Whatever is not from an error table is a bug: the log has all of it, the caller nothing.
  if (known === undefined) request.log.error({ err: error }, 'a bug answered 500')
  else if (known.status >= 500) request.log.warn({ err: known }, known.message)
  const answered = known ?? errors.internal_error()
  if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id)
  if (answered.status === 401) reply.header('www-authenticate', 'Bearer')
  if (answered.retryAfter !== undefined) reply.header('retry-after', String(answered.retryAfter))
  void reply
    .code(answered.status)
    .headers(answered.headers ?? {})
    .serializer((payload: unknown) => JSON.stringify(payload))
    .header('content-type', JSON_TYPE)
    .send(envelope(answered))
}
