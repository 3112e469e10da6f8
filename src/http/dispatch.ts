import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { ApiError, errors } from '../base/errors.ts'
import { bearerToken } from './bearer-token.ts'
import { BODY_LIMIT, envelope, JSON_TYPE } from './failures.ts'
import { FORM_TYPE } from './forms.ts'
import {
  idempotencyKey,
  isFinal,
  refuseUnlessNew,
  type IdempotencyStore,
  type KeptAnswer,
} from './idempotency.ts'
import { clientOf, limitOf, parseRateLimit, takeCall, type RateLimiter } from './limits.ts'
import { isLocalCall } from './local-call.ts'
import type { Admission, Caller } from './access.ts'
import { Answer, answer, JsonText, type Call, type Route, type RouteGroup, type RouteSpec } from './route.ts'
import type { Work } from './work.ts'

/** What every route needs of its server. */
export type DispatchOptions = {
  policy: Admission
  /** Who sends this bearer token; undefined where nobody does. */
  authenticate: (token: string) => Promise<Caller | undefined>
  /** Where a route may have its calls counted. */
  limiters: Readonly<Record<NonNullable<RouteSpec['limitIn']>, RateLimiter>>
  /** Whether the limits hold that a route does not want always. */
  limitsOn: boolean
  idempotency: IdempotencyStore
  /** Makes an id for a record or a request. */
  newId: () => string
  log: FastifyBaseLogger
}

/** A request between the hook that admits it and its handler, with who calls. */
type Admitted = FastifyRequest & { caller: Caller | undefined }

/** To be done before any route is registered: with it all requests have one shape, which is quicker to read. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine.decorateRequest('caller', undefined)

/** Puts one route of a wire into the engine: who may call it, how often, and what becomes of its answer. */
export function registerRoute(
  engine: FastifyInstance,
  options: DispatchOptions,
  { wire, bodyLimit }: RouteGroup,
  one: Route,
  work: Work,
): void {
  const { spec, method, path } = one
  const limited = options.limitsOn || spec.limitAlways ? limitOf(spec) : undefined
  const limit = limited && { ...parseRateLimit(limited.limit), countsCallers: limited.countsCallers }
  const limiter = options.limiters[limited?.limitIn ?? 'database']
  const ownBodyLimit = spec.bodyLimit ?? bodyLimit
  const [usualStatus] = Object.keys(spec.reply).map(Number)

  const routeAccess = { access: spec.access, wire, method }

  async function admit(request: FastifyRequest): Promise<void> {
    const admitted = request as Admitted
    let refused: ApiError | undefined
    if (spec.access !== 'public') {
      const { authorization } = request.headers
      if (authorization !== undefined) {
        const token = bearerToken(authorization)
        admitted.caller = token === undefined ? undefined : await options.authenticate(token)
        if (!admitted.caller) refused = refusedToken(authorization)
      }
      if (!refused) options.policy.admit(admitted.caller, routeAccess)
    }
    if (limit && (limit.countsCallers || !admitted.caller)) {
      const who = admitted.caller?.id ?? clientOf(request.ip)
      await takeCall(limiter, `${spec.limitName ?? one.key} ${who}`, limit)
    }
    // A call with a token that nobody has counts as well.
    if (refused) throw refused
    spec.authorize?.(request.headers)
    if (ownBodyLimit === undefined && !admitted.caller) refuseLargeBody(request.headers)
  }

  /** What the handler returned, as it is sent. */
  function rendered(returned: unknown, reply: FastifyReply): KeptAnswer | Answer<unknown> {
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

  const brief = typeof spec.idempotent === 'object' ? spec.idempotent : undefined

  /** An error holds no tokens, so it is replayed like the answer of every other route. */
  const isCurrent = async ({ status, body }: KeptAnswer): Promise<boolean> =>
    !brief || status >= 400 || brief.isCurrent(JSON.parse(body))

  /** The answer under an Idempotency-Key: the one that was given before, or that of the only call that is made. */
  async function answerOnce(key: string, request: FastifyRequest, reply: FastifyReply): Promise<KeptAnswer> {
    const { caller } = request as Admitted
    const asked = JSON.stringify([one.key, request.params, request.body])
    const who = caller ? `${caller.kind}:${caller.id}` : options.idempotency.stranger(asked)
    let start = await options.idempotency.begin(who, key, asked)
    while (start.state === 'done') {
      if (await isCurrent(start.answer)) {
        reply.header('idempotency-replayed', 'true')
        return start.answer
      }
      await options.idempotency.expire(who, key)
      start = await options.idempotency.begin(who, key, asked)
    }
    refuseUnlessNew(start)
    try {
      const answered = rendered(await one.handle(callOf(request, start.recordId)), reply)
      if (answered instanceof Answer)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer JSON`)
      await options.idempotency.finish(who, key, answered, brief && brief.seconds * 1000)
      return answered
    } catch (error) {
      if (error instanceof ApiError && isFinal(error.status))
        await options.idempotency.finish(who, key, {
          status: error.status,
          headers: error.headers ?? {},
          body: JSON.stringify(envelope(error, spec.errorDetails)),
        })
      else await options.idempotency.release(who, key)
      throw error
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    work.begin()
    try {
      const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
      const answered =
        key === undefined
          ? rendered(await one.handle(callOf(request)), reply)
          : await answerOnce(key, request, reply)
      return await send(reply, answered)
    } finally {
      work.end()
    }
  }

  const callOf = (request: FastifyRequest, recordId?: string): Call =>
    new ReceivedCall(request as Admitted, options, recordId) as unknown as Call

  engine.route({
    method,
    url: path,
    bodyLimit: ownBodyLimit ?? (spec.access === 'public' ? STRANGERS_BODY_LIMIT : BODY_LIMIT),
    schema: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { querystring: spec.query }),
      ...(spec.body && { body: spec.body }),
      ...(spec.headers && { headers: spec.headers }),
      ...(spec.form && { consumes: [FORM_TYPE] }),
      response: spec.reply,
    },
    config: spec.errorDetails ? { errorDetails: spec.errorDetails } : {},
    onRequest: admit,
    handler: handle,
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

/** What a handler is given, each part read from the request when it is asked for. */
class ReceivedCall {
  readonly #request: Admitted
  readonly #options: DispatchOptions
  #recordId: string | undefined

  constructor(request: Admitted, options: DispatchOptions, recordId: string | undefined) {
    this.#request = request
    this.#options = options
    this.#recordId = recordId
  }

  get params() {
    return this.#request.params
  }
  get query() {
    return this.#request.query
  }
  get body() {
    return this.#request.body
  }
  get headers() {
    return this.#request.headers
  }
  get caller() {
    return this.#request.caller
  }
  get ip() {
    return this.#request.ip
  }
  get userAgent() {
    return this.#request.raw.headers['user-agent'] ?? ''
  }
  get isLocal() {
    return isLocalCall(this.#request.raw)
  }
  get requestId() {
    return this.#request.id
  }
  get recordId() {
    return (this.#recordId ??= this.#options.newId())
  }
  get log() {
    return this.#options.log.child({ requestId: this.#request.id })
  }
}

// The form of a token is looked at only where nobody is known by it.
const BEARER = /^Bearer +[\w.~+/=-]{1,4096}$/i

// JSON of a mebibyte can hold the event loop for a fifth of a second.
const STRANGERS_BODY_LIMIT = 65_536

/** @throws PAYLOAD_TOO_LARGE for a body that is larger than what is read without a token, or may be */
function refuseLargeBody(headers: IncomingHttpHeaders): void {
  const isSized = headers['transfer-encoding'] === undefined
  if (isSized && Number(headers['content-length'] ?? 0) <= STRANGERS_BODY_LIMIT) return
  throw errors.payload_too_large({
    message: isSized
      ? `The body is larger than ${STRANGERS_BODY_LIMIT} bytes, the most that is read without a token.`
      : 'Send the body with its content-length: without a token one of unknown length is not read.',
  })
}

/** Why nobody was found for an Authorization header. */
const refusedToken = (header: string) =>
  errors.unauthorized({
    message: BEARER.test(header)
      ? 'This token is not valid, or no longer: sign in again or refresh it.'
      : 'The Authorization header must be "Bearer <token>".',
  })
