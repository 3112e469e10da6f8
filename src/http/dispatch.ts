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
import { createFieldChecks, MultipartReader } from './multipart.ts'
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
  /** Who sends this bearer token; undefined where nobody does. */
  authenticate: (token: string) => Promise<Caller | undefined>
  /** Who sent a token last, if reads begin while it is being authenticated again; see `readsOnly`. */
  expectedCallers: ExpectedCallers | undefined
  /** Where a route may have its calls counted. */
  limiters: Readonly<Record<NonNullable<RouteSpec['limitIn']>, RateLimiter>>
  /** Whether the limits hold that a route does not want always. */
  limitsOn: boolean
  idempotency: IdempotencyStore
}

/** To be done before any route is registered: with it all requests have one shape, which is quicker to read. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine.decorateRequest('caller', undefined).decorateRequest('authentication', undefined)

/** Puts one route of a wire into the engine: who may call it, how often, and what becomes of its answer. */
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
    spec.readsOnly && !limit?.countsCallers && !spec.authorize ? options.expectedCallers : undefined

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
    // A call with a token that nobody has counts as well.
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
    const { authentication, caller: expected } = request
    if (!authentication) return one.handle(callOf(exchange))
    // With `attachValidation` a request that is not valid comes this far, because 401 goes before 400.
    const { validationError } = request
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
    const asked = JSON.stringify([one.key, request.params, content])
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
  const contentOf = ({ body: received, headers }: FastifyRequest): unknown =>
    body?.kind === 'raw'
      ? [headers['content-type'], sha256(rawRequestOf({ headers, url: '', body: received }).bytes)]
      : received

  async function performWith(
    key: string | undefined,
    exchange: Exchange,
  ): Promise<KeptAnswer | Answer<unknown>> {
    const { request, reply } = exchange
    if (key === undefined) return rendered(await handled(exchange), reply)
    return answerOnce(key, contentOf(request), exchange, (recordId) =>
      one.handle(callOf(exchange, { recordId })),
    )
  }

  /** Of an upload the handler itself says what it is compared by, once its bytes have come. */
  async function receiveParts(
    key: string | undefined,
    exchange: Exchange,
  ): Promise<KeptAnswer | Answer<unknown>> {
    const { request, reply } = exchange
    if (body?.kind !== 'multipart' || !fieldChecks) throw new Error(`${one.key} takes no multipart body`)
    if (!request.isMultipart()) throw invalid({ path: '/body', message: 'is required' })
    const reader = new MultipartReader(request, body, fieldChecks)
    request.body = reader
    let isKeyUsed = key === undefined
    async function once(fingerprint: unknown, perform: (recordId: string) => unknown): Promise<unknown> {
      isKeyUsed = true
      if (key === undefined) return perform(options.newId())
      const answered = await answerOnce(key, fingerprint, exchange, perform)
      const headers = { ...answered.headers, 'content-type': JSON_TYPE }
      return answer(answered.body, { status: answered.status, headers })
    }
    try {
      await reader.open()
      const answered = rendered(await one.handle(callOf(exchange, { once })), reply)
      if (spec.idempotent && !isKeyUsed)
        throw new Error(`${one.key} takes an Idempotency-Key and must answer what call.once answers`)
      return answered
    } finally {
      reader.close()
    }
  }

  const perform = body?.kind === 'multipart' ? receiveParts : performWith

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    work.begin()
    try {
      const key = spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
      return await send(reply, await perform(key, { request: request as Admitted, reply }))
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
