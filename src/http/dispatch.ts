import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { sha256 } from '../base/crypto.ts'
import { ApiError, errors, invalid } from '../base/errors.ts'
import { bearerToken } from './bearer-token.ts'
import { maxBytesOf, schemaOfBody } from './bodies.ts'
import { rawRequestOf } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { BODY_LIMIT, envelope, JSON_TYPE } from './failures.ts'
import {
  idempotencyKey,
  isFinal,
  refuseUnlessNew,
  type IdempotencyStore,
  type StoredAnswer,
} from './idempotency.ts'
import { isSameCaller, type ExpectedCallers } from './expected-callers.ts'
import { callerKind, countedFor, limitOf, parseRateLimit, takeCall, type RateLimiter } from './limits.ts'
import { createFieldChecks, MultipartReader, type FieldChecks } from './multipart.ts'
import {
  ReceivedCall,
  type AdmittedRequest,
  type ReceivedCallOptions,
  type Exchange,
  type CallExtras,
} from './received-call.ts'
import type { Admission, Caller } from './access.ts'
import { Answer, answer, JsonText, type Call, type Route, type RouteGroup, type RouteSpec } from './route.ts'
import { Share, weightOfBody, type Limits } from './shares.ts'
import type { Validation } from './validation.ts'
import type { Work } from './work.ts'

/** What every route needs of its server. */
export type DispatchOptions = ReceivedCallOptions & {
  policy: Admission
  /** The caller that a bearer token belongs to; undefined if it is not valid. */
  authenticate: (token: string) => Promise<Caller | undefined>
  /** The last callers of tokens, if reads may start while a token is authenticated again; see `readsOnly`. */
  expectedCallers: ExpectedCallers | undefined
  /** The counters of calls: see `limitIn` of a route. */
  limiters: Readonly<Record<NonNullable<RouteSpec['limitIn']>, RateLimiter>>
  /** Whether limits apply also to routes without `limitAlways`. */
  limitsOn: boolean
  idempotency: IdempotencyStore
}

/** Called before any route is registered: all requests then have one shape, which the runtime reads faster. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine
    .decorateRequest('caller', undefined)
    .decorateRequest('authentication', undefined)
    .decorateRequest('share', undefined)

/** Registers one route of a wire in the engine: access, rate limit, handler and answer. */
export function registerRoute(
  engine: FastifyInstance,
  options: DispatchOptions,
  { wire, bodyLimit }: RouteGroup,
  one: Route,
  { work, limits, validation }: { work: Work; limits: Limits; validation: Validation },
): void {
  const { spec, method, path } = one
  const { body } = spec
  const limitSpec = options.limitsOn || spec.limitAlways ? limitOf(spec) : undefined
  const limit = limitSpec && { ...parseRateLimit(limitSpec.limit), counted: limitSpec.counted }
  const limiter = options.limiters[limitSpec?.limitIn ?? 'database']
  const ownBodyLimit = maxBytesOf(body) ?? bodyLimit
  const bodyMax = ownBodyLimit ?? (spec.access === 'public' ? ANONYMOUS_BODY_LIMIT : BODY_LIMIT)
  const fieldChecks = body?.kind === 'multipart' ? createFieldChecks(body, validation) : undefined
  const [defaultStatus] = Object.keys(spec.reply).map(Number)

  const { access, scope, irreversible } = spec
  const routeAccess = { access, wire, method, scope, irreversible }
  const expectedCallers =
    spec.readsOnly && !body && !spec.idempotent && !limit?.counted.includes('user') && !spec.authorize
      ? options.expectedCallers
      : undefined

  async function admit(fastifyRequest: FastifyRequest, reply: FastifyReply): Promise<void> {
    const request = fastifyRequest as AdmittedRequest
    // Answers that belong to a caller or hold tokens are not cached (RFC 6749, section 5.1); a handler may set another value.
    if (method !== 'GET' || request.headers.authorization !== undefined)
      reply.header('cache-control', 'no-store')
    let refusal: ApiError | undefined
    if (spec.access !== 'public') {
      const { authorization } = request.headers
      if (authorization !== undefined) {
        const token = bearerToken(authorization)
        const authentication = token === undefined ? undefined : options.authenticate(token)
        if (token !== undefined && authentication && expectedCallers) {
          request.authentication = expectedCallers.update(token, authentication)
          request.caller = expectedCallers.get(token)
          if (request.caller && isAdmitted(request.caller)) return takeShare(request, reply)
          request.authentication = undefined
        }
        request.caller = await authentication
        if (!request.caller) refusal = invalidToken(authorization)
      }
      if (!refusal) options.policy.admit(request.caller, routeAccess)
    }
    await countCall(request)
    // A call with an invalid token is counted as well.
    if (refusal) throw refusal
    spec.authorize?.(request.headers)
    if (ownBodyLimit === undefined && !request.caller) refuseLargeBody(request.headers)
    await takeShare(request, reply)
  }

  function takeShare(request: AdmittedRequest, reply: FastifyReply): Promise<void> | undefined {
    // Whether the server works is asked and answered in any case.
    if (wire === 'core') return undefined
    // The share is released when the response closes, which would not happen again.
    if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
    request.share = new Share(limits, request)
    const weight = body ? weightOfBody(request.headers, bodyMax, body.kind === 'multipart') : 0
    return request.share.begin(weight, () => signalOf(reply.raw, undefined))
  }

  async function countCall(request: AdmittedRequest): Promise<void> {
    if (!limit?.counted.includes(callerKind(request.caller))) return
    await takeCall(limiter, `${spec.limitName ?? one.key} ${countedFor(request)}`, limit)
  }

  function isAdmitted(caller: Caller): boolean {
    try {
      options.policy.admit(caller, routeAccess)
      return true
    } catch {
      return false
    }
  }

  /** Calls the handler; resolves once the caller's token is known to be valid. */
  async function callHandler(exchange: Exchange): Promise<unknown> {
    const { request } = exchange
    // With `attachValidation` an invalid request gets this far, because 401 takes precedence over 400.
    const { authentication, caller: expectedCaller, validationError } = request
    if (!authentication) {
      if (validationError) throw validationError
      return one.handle(callOf(exchange))
    }
    const earlyResult = validationError
      ? Promise.reject(validationError)
      : Promise.resolve(callOf(exchange)).then((call) => one.handle(call))
    earlyResult.catch(() => undefined) // returned below, or not needed
    const caller = await authentication
    if (isSameCaller(caller, expectedCaller)) return earlyResult
    request.caller = caller
    await countCall(request)
    if (!caller) throw invalidToken(request.headers.authorization!)
    options.policy.admit(caller, routeAccess)
    if (validationError) throw validationError
    return one.handle(callOf(exchange))
  }

  /** A result of the handler in the form in which it is sent. */
  function render(result: unknown, reply: FastifyReply): StoredAnswer | Answer<unknown> {
    const response: Answer<unknown> = result instanceof Answer ? result : answer(result, {})
    const content: unknown = response.body
    const { status = defaultStatus!, headers } = response
    if (typeof content === 'string' || Buffer.isBuffer(content) || isStream(content)) return response
    const text =
      content instanceof JsonText
        ? content.text
        : (reply.serializeInput(content as Record<string, unknown>, String(status)) as string)
    return { status, headers, body: text }
  }

  const briefReplay = typeof spec.idempotent === 'object' ? spec.idempotent : undefined

  /** An error contains no tokens, so it is replayed like the answers of other routes. */
  const isCurrent = async ({ status, body }: StoredAnswer): Promise<boolean> =>
    !briefReplay || status >= 400 || briefReplay.isCurrent(JSON.parse(body))

  /**
   * Answers under an Idempotency-Key: with the stored answer, or by making the call.
   *
   * @param content what calls are compared by; other content under the same key is a conflict
   */
  async function answerOnce(
    key: string,
    content: unknown,
    { request, reply }: Exchange,
    perform: (recordId: string) => unknown,
  ): Promise<StoredAnswer> {
    const { caller } = request
    // Only if there is one, so that keys of the version before stay what they are.
    const query = Object.keys(request.query as object).length > 0 ? [request.query] : []
    const fingerprint = JSON.stringify([one.key, request.params, content, ...query])
    const own = caller ? `${caller.kind}:${caller.id}` : options.idempotency.anonymous(fingerprint)
    // What the version before stored under the caller's own key is that call: a refund must not be made again.
    const callerKey =
      spec.keysOf && !(await options.idempotency.has(own, key, fingerprint))
        ? `shared:${wire}:${spec.keysOf({ params: request.params, body: request.body })}`
        : own
    let start = await options.idempotency.begin(callerKey, key, fingerprint)
    while (start.state === 'done') {
      if (await isCurrent(start.answer)) {
        reply.header('idempotency-replayed', 'true')
        return start.answer
      }
      await options.idempotency.expire(callerKey, key)
      start = await options.idempotency.begin(callerKey, key, fingerprint)
    }
    refuseUnlessNew(start)
    try {
      const response = render(await perform(start.recordId), reply)
      if (response instanceof Answer)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer JSON`)
      await options.idempotency.finish(callerKey, key, response, briefReplay && briefReplay.seconds * 1000)
      return response
    } catch (error) {
      if (error instanceof ApiError && isFinal(error.status))
        await options.idempotency.finish(callerKey, key, {
          status: error.status,
          headers: error.headers ?? {},
          body: JSON.stringify(envelope(error, spec.errorDetails)),
        })
      else await options.idempotency.release(callerKey, key)
      throw error
    }
  }

  /** What a body is compared by under an Idempotency-Key. */
  const contentOf = (request: FastifyRequest): unknown =>
    body?.kind === 'raw'
      ? [request.headers['content-type'], sha256(rawRequestOf(request).bytes)]
      : request.body

  /** Calls the handler of a multipart body, which gives the body's fingerprint itself once it has read the bytes. */
  async function receiveUpload(
    key: string | undefined,
    exchange: Exchange,
    checks: FieldChecks,
  ): Promise<StoredAnswer | Answer<unknown>> {
    const { request, reply } = exchange
    if (!request.isMultipart()) throw invalid({ path: '/body', message: 'is required' })
    const reader = new MultipartReader(request, checks)
    request.body = reader
    let isKeyUsed = key === undefined
    async function once(fingerprint: unknown, perform: (recordId: string) => unknown): Promise<unknown> {
      isKeyUsed = true
      if (key === undefined) return perform(options.newId())
      const { status, headers, body: text } = await answerOnce(key, fingerprint, exchange, perform)
      return answer(text, { status, headers: { ...headers, 'content-type': JSON_TYPE } })
    }
    try {
      await reader.open()
      const response = render(await one.handle(callOf(exchange, { once })), reply)
      if (!isKeyUsed)
        throw new Error(`${one.key} takes an Idempotency-Key and must return what call.once returns`)
      return response
    } finally {
      reader.close()
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const exchange = { request: request as AdmittedRequest, reply }
    const { share } = exchange.request
    work.begin()
    share?.enterHandler()
    try {
      const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
      const response = fieldChecks
        ? await receiveUpload(key, exchange, fieldChecks)
        : key === undefined
          ? render(await callHandler(exchange), reply)
          : await answerOnce(key, contentOf(request), exchange, (recordId) =>
              one.handle(callOf(exchange, { recordId })),
            )
      share?.answerHas(sizeOf(response))
      return await send(reply, response)
    } finally {
      share?.leaveHandler()
      work.end()
    }
  }

  const callOf = (exchange: Exchange, extras?: CallExtras): Call =>
    new ReceivedCall(exchange, spec, options, extras) as unknown as Call

  // MultipartReader checks the fields of a multipart body.
  const bodySchema = body?.kind === 'multipart' ? undefined : schemaOfBody(body)
  engine.route({
    method,
    url: path,
    bodyLimit: bodyMax,
    schema: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { querystring: spec.query }),
      ...(bodySchema && { body: bodySchema }),
      ...(spec.headers && { headers: spec.headers }),
      response: spec.reply,
    },
    config: { ...(spec.errorDetails && { errorDetails: spec.errorDetails }), ...(body && { body }) },
    ...(expectedCallers && { attachValidation: true }),
    onRequest: admit,
    handler: handle,
  })
}

const isStream = (body: unknown): boolean => typeof (body as { pipe?: unknown } | null)?.pipe === 'function'

/** Of an answer whose size is not known, none: it is produced as fast as it is taken. */
const sizeOf = ({ body }: StoredAnswer | Answer<unknown>): number =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.length : 0

function send(reply: FastifyReply, response: StoredAnswer | Answer<unknown>): FastifyReply {
  if (response instanceof Answer)
    return reply
      .code(response.status ?? 200)
      .headers(response.headers)
      .send(response.body)
  return reply
    .code(response.status)
    .headers(response.headers)
    .header('content-type', JSON_TYPE)
    .send(response.body.length > LONG_TEXT ? Buffer.from(response.body) : response.body)
}

// A text is copied once more behind its headers, and takes three bytes for each character until a slow client has it.
const LONG_TEXT = 262_144

// For the error message only: valid tokens are not matched against it.
const BEARER = /^Bearer +[\w.~+/=-]{1,4096}$/i

// A mebibyte of JSON can block the event loop for a fifth of a second.
const ANONYMOUS_BODY_LIMIT = 65_536

/** @throws PAYLOAD_TOO_LARGE if the body is larger than is read without a token, or could be */
function refuseLargeBody(headers: IncomingHttpHeaders): void {
  const isSized = headers['transfer-encoding'] === undefined
  if (isSized && Number(headers['content-length'] ?? 0) <= ANONYMOUS_BODY_LIMIT) return
  throw errors.payload_too_large({
    message: isSized
      ? `The body is larger than ${ANONYMOUS_BODY_LIMIT} bytes, the most that is read without a token.`
      : 'Send the body with a content-length: without a token, a body of unknown length is not read.',
  })
}

/** The error for an Authorization header that belongs to no caller. */
const invalidToken = (header: string) =>
  errors.unauthorized({
    message: BEARER.test(header)
      ? 'This token is invalid, expired or revoked: sign in again or refresh it.'
      : 'The Authorization header must be "Bearer <token>".',
  })
