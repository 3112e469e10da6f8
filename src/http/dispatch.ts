import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { sha256 } from '../base/crypto.ts'
import { ApiError, errors, invalid } from '../base/errors.ts'
import { bearerToken } from './bearer-token.ts'
import { maxBytesOf, schemaOfBody } from './bodies.ts'
import { rawRequestOf } from './body-parsers.ts'
import { BODY_LIMIT, envelope, JSON_TYPE } from './failures.ts'
import {
  idempotencyKey,
  isFinal,
  refuseUnlessNew,
  type IdempotencyStore,
  type KeptAnswer,
} from './idempotency.ts'
import { isSameCaller, type ExpectedCallers } from './expected-callers.ts'
import { clientOf, limitOf, parseRateLimit, takeCall, type RateLimiter } from './limits.ts'
import { createFieldChecks, MultipartReader, type FieldChecks } from './multipart.ts'
import {
  ReceivedCall,
  type Admitted,
  type CallOptions,
  type Exchange,
  type OwnOfCall,
} from './received-call.ts'
import type { Admission, Caller } from './access.ts'
import { Answer, answer, JsonText, type Call, type Route, type RouteGroup, type RouteSpec } from './route.ts'
import type { Validation } from './validation.ts'
import type { Work } from './work.ts'

/** What every route needs of its server. */
export type DispatchOptions = CallOptions & {
  policy: Admission
  /** The caller that a bearer token belongs to; undefined if it is not valid. */
  authenticate: (token: string) => Promise<Caller | undefined>
  /** Who sent a token last, if reads begin while it is being authenticated again; see `readsOnly`. */
  expectedCallers: ExpectedCallers | undefined
  /** The counters of calls: see `limitIn` of a route. */
  limiters: Readonly<Record<NonNullable<RouteSpec['limitIn']>, RateLimiter>>
  /** Whether limits apply also to routes without `limitAlways`. */
  limitsOn: boolean
  idempotency: IdempotencyStore
}

/** Called before any route is registered: all requests then have one shape, which the runtime reads faster. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine.decorateRequest('caller', undefined).decorateRequest('authentication', undefined)

/** Registers one route of a wire in the engine: who may call it, how often, and how it is answered. */
export function registerRoute(
  engine: FastifyInstance,
  options: DispatchOptions,
  { wire, bodyLimit }: RouteGroup,
  one: Route,
  { work, validation }: { work: Work; validation: Validation },
): void {
  const { spec, method, path } = one
  const { body } = spec
  const limited = options.limitsOn || spec.limitAlways ? limitOf(spec) : undefined
  const limit = limited && { ...parseRateLimit(limited.limit), countsCallers: limited.countsCallers }
  const limiter = options.limiters[limited?.limitIn ?? 'database']
  const ownBodyLimit = maxBytesOf(body) ?? bodyLimit
  const fieldChecks = body?.kind === 'multipart' ? createFieldChecks(body, validation) : undefined
  const [usualStatus] = Object.keys(spec.reply).map(Number)

  const routeAccess = { access: spec.access, wire, method }
  const expectedCallers =
    spec.readsOnly && !body && !spec.idempotent && !limit?.countsCallers && !spec.authorize
      ? options.expectedCallers
      : undefined

  async function admit(request: FastifyRequest): Promise<void> {
    const admitted = request as Admitted
    let refused: ApiError | undefined
    if (spec.access !== 'public') {
      const { authorization } = request.headers
      if (authorization !== undefined) {
        const token = bearerToken(authorization)
        const authentication = token === undefined ? undefined : options.authenticate(token)
        if (token !== undefined && authentication && expectedCallers) {
          admitted.authentication = expectedCallers.update(token, authentication)
          admitted.caller = expectedCallers.get(token)
          if (admitted.caller && isAdmitted(admitted.caller)) return
          admitted.authentication = undefined
        }
        admitted.caller = await authentication
        if (!admitted.caller) refused = refusedToken(authorization)
      }
      if (!refused) options.policy.admit(admitted.caller, routeAccess)
    }
    await countCall(admitted)
    // A call with an invalid token is counted as well.
    if (refused) throw refused
    spec.authorize?.(request.headers)
    if (ownBodyLimit === undefined && !admitted.caller) refuseLargeBody(request.headers)
  }

  async function countCall({ caller, ip }: Admitted): Promise<void> {
    if (!limit || (caller && !limit.countsCallers)) return
    await takeCall(limiter, `${spec.limitName ?? one.key} ${caller?.id ?? clientOf(ip)}`, limit)
  }

  function isAdmitted(caller: Caller): boolean {
    try {
      options.policy.admit(caller, routeAccess)
      return true
    } catch {
      return false
    }
  }

  /** What the handler returns, for a caller whose token holds. */
  async function handled(exchange: Exchange): Promise<unknown> {
    const { request } = exchange
    // With `attachValidation` a request that is not valid comes this far, because 401 goes before 400.
    const { authentication, caller: expected, validationError } = request
    if (!authentication) {
      if (validationError) throw validationError
      return one.handle(callOf(exchange))
    }
    const early = validationError
      ? Promise.reject(validationError)
      : Promise.resolve(callOf(exchange)).then((call) => one.handle(call))
    early.catch(() => undefined) // looked at below, or of no interest
    const caller = await authentication
    if (isSameCaller(caller, expected)) return early
    request.caller = caller
    await countCall(request)
    if (!caller) throw refusedToken(request.headers.authorization!)
    options.policy.admit(caller, routeAccess)
    if (validationError) throw validationError
    return one.handle(callOf(exchange))
  }

  /** What the handler returned, as it is sent. */
  function rendered(returned: unknown, reply: FastifyReply): KeptAnswer | Answer<unknown> {
    const answered: Answer<unknown> = returned instanceof Answer ? returned : answer(returned, {})
    const content: unknown = answered.body
    const { status = usualStatus!, headers } = answered
    if (typeof content === 'string' || Buffer.isBuffer(content) || isStream(content)) return answered
    const text =
      content instanceof JsonText
        ? content.text
        : (reply.serializeInput(content as Record<string, unknown>, String(status)) as string)
    return { status, headers, body: text }
  }

  const brief = typeof spec.idempotent === 'object' ? spec.idempotent : undefined

  /** An error holds no tokens, so it is replayed like the answer of every other route. */
  const isCurrent = async ({ status, body }: KeptAnswer): Promise<boolean> =>
    !brief || status >= 400 || brief.isCurrent(JSON.parse(body))

  /**
   * The answer under an Idempotency-Key: the one that was given before, or that of the only call that is made.
   *
   * @param content what the call is made with; other content under the same key is a conflict
   */
  async function answerOnce(
    key: string,
    content: unknown,
    { request, reply }: Exchange,
    perform: (recordId: string) => unknown,
  ): Promise<KeptAnswer> {
    const { caller } = request
    // Only if there is one, so that keys of the version before stay what they are.
    const query = Object.keys(request.query as object).length > 0 ? [request.query] : []
    const fingerprint = JSON.stringify([one.key, request.params, content, ...query])
    const who = caller ? `${caller.kind}:${caller.id}` : options.idempotency.stranger(fingerprint)
    let start = await options.idempotency.begin(who, key, fingerprint)
    while (start.state === 'done') {
      if (await isCurrent(start.answer)) {
        reply.header('idempotency-replayed', 'true')
        return start.answer
      }
      await options.idempotency.expire(who, key)
      start = await options.idempotency.begin(who, key, fingerprint)
    }
    refuseUnlessNew(start)
    try {
      const answered = rendered(await perform(start.recordId), reply)
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

  /** What a body is compared by under an Idempotency-Key. */
  const contentOf = (request: FastifyRequest): unknown =>
    body?.kind === 'raw'
      ? [request.headers['content-type'], sha256(rawRequestOf(request).bytes)]
      : request.body

  /** Calls the handler of a multipart body, which itself says what the body is compared by, once its bytes have come. */
  async function receiveUpload(
    key: string | undefined,
    exchange: Exchange,
    checks: FieldChecks,
  ): Promise<KeptAnswer | Answer<unknown>> {
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
      const answered = rendered(await one.handle(callOf(exchange, { once })), reply)
      if (!isKeyUsed)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer what call.once answers`)
      return answered
    } finally {
      reader.close()
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const exchange = { request: request as Admitted, reply }
    work.begin()
    try {
      const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
      const answered = fieldChecks
        ? await receiveUpload(key, exchange, fieldChecks)
        : key === undefined
          ? rendered(await handled(exchange), reply)
          : await answerOnce(key, contentOf(request), exchange, (recordId) =>
              one.handle(callOf(exchange, { recordId })),
            )
      return await send(reply, answered)
    } finally {
      work.end()
    }
  }

  const callOf = (exchange: Exchange, own?: OwnOfCall): Call =>
    new ReceivedCall(exchange, spec, options, own) as unknown as Call

  // Of a multipart body the reader checks the fields.
  const checkedBody = body?.kind === 'multipart' ? undefined : schemaOfBody(body)
  engine.route({
    method,
    url: path,
    bodyLimit: ownBodyLimit ?? (spec.access === 'public' ? STRANGERS_BODY_LIMIT : BODY_LIMIT),
    schema: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { querystring: spec.query }),
      ...(checkedBody && { body: checkedBody }),
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

// Only for the message: a token that is valid is not looked at this way.
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

/** The refusal of an Authorization header that belongs to no caller. */
const refusedToken = (header: string) =>
  errors.unauthorized({
    message: BEARER.test(header)
      ? 'This token is not valid, or no longer: sign in again or refresh it.'
      : 'The Authorization header must be "Bearer <token>".',
  })
