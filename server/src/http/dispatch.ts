import type { FastifyInstance, FastifyReply } from 'fastify'

import { ApiError, errors, invalid } from '../base/errors.ts'
import { bearerToken, invalidToken } from './bearer-token.ts'
import { schemaOfBody } from './bodies.ts'
import { signalOf } from './call-signal.ts'
import { EventStream } from './event-stream.ts'
import { sendHead } from './open-event-stream.ts'
import { isSameCaller } from './expected-callers.ts'
import { JSON_TYPE } from './failures.ts'
import { idempotencyKey, type StoredAnswer } from './idempotency.ts'
import { answerOnce, contentOf } from './idempotent-answer.ts'
import { callerKind, countedFor, takeCall } from './limits.ts'
import { MultipartReader, type FieldChecks } from './multipart.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { actorIn, ReceivedCall, type CallExtras, type Exchange } from './received-call.ts'
import type { Caller } from './access.ts'
import { Answer, answer, JsonText, type Call, type Method } from './route.ts'
import { ANONYMOUS_BODY_LIMIT, type RouteContext } from './route-context.ts'
import { Share, weightOfBody } from './shares.ts'

/** Called before any route is registered: all requests then have one shape, which the runtime reads faster. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine
    .decorateRequest('caller', undefined)
    .decorateRequest('authentication', undefined)
    .decorateRequest('share', undefined)
    .decorateRequest('settle', undefined)
    .decorateRequest('errorCode', undefined)
    .decorateRequest('address', undefined)

/**
 * Adds HEAD to GET. The engine would register it as a second route, with hooks and schemas of its own. Node sends no body for
 * HEAD.
 */
export const withHead = (methods: readonly Method[]): string[] =>
  methods.includes('GET') ? [...methods, 'HEAD'] : [...methods]

/**
 * Registers a route in the engine, which calls `receive` once it has the headers of a request, then reads and validates
 * the body, and calls `respond`.
 */
export function registerRoute(engine: FastifyInstance, route: RouteContext): void {
  const { spec } = route
  const { params, query, headers, body, reply: response } = spec
  // MultipartReader checks the fields of a multipart body.
  const bodySchema = body?.kind === 'multipart' ? undefined : schemaOfBody(body)
  engine.route({
    method: withHead([route.method]),
    url: route.path,
    bodyLimit: route.bodyMax,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(bodySchema && { body: bodySchema }),
      ...(headers && { headers }),
      response,
    },
    config: { spec }, // see specOf
    // See `validate`.
    ...(route.expectedCallers && { attachValidation: true }),
    onRequest: (request, reply) => receive(route, request as AdmittedRequest, reply),
    handler: (request, reply) => respond(route, request as AdmittedRequest, reply),
  })
}

/** The phases before the body is read. */
async function receive(route: RouteContext, request: AdmittedRequest, reply: FastifyReply): Promise<void> {
  forbidCaching(route, request, reply)
  // Nothing is of no media type. Tools for forms send one with it.
  if (request.headers['content-length'] === '0') delete request.headers['content-type']
  const refusal = await authenticate(route, request)
  if (!refusal) await admit(route, request)
  // A call with an invalid token is counted as well.
  await limit(route, request)
  if (refusal) throw refusal
  route.spec.authorize?.(request.headers)
  if (request.headers['content-encoding'] !== undefined) refuseCoding(route, request)
  if (route.hasDefaultBodyMax && !request.caller) limitBody(request)
  await takeShare(route, request, reply)
}

/** The phases after the body is read. */
async function respond(
  route: RouteContext,
  request: AdmittedRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { share, authentication } = request
  const { work } = route.server
  const exchange = { route, request, reply }
  work.begin()
  share?.enterHandler()
  try {
    const response = await (authentication ? performEarly(exchange, authentication) : perform(exchange))
    if (response instanceof EventStream) return await openStream(exchange, response)
    share?.answerHas(sizeOf(response))
    return await send(reply, response)
  } finally {
    share?.leaveHandler()
    work.end()
  }
}

/** Validate, idempotency, handle and render. */
function perform(exchange: Exchange): Promise<RenderedAnswer | EventStream> {
  const { route, request } = exchange
  validate(request)
  if (route.spec.stream) return handleStream(exchange)
  const key = route.spec.idempotent ? idempotencyKey(request.headers['idempotency-key']) : undefined
  if (route.fieldChecks) return handleUpload(exchange, route.fieldChecks, key)
  if (key === undefined) return handle(exchange)
  return answerOnce(exchange, key, contentOf(exchange), (recordId) => handle(exchange, { recordId }))
}

/** Performs a read while its token is authenticated again; nothing is answered before the token is found valid. */
async function performEarly(
  exchange: Exchange,
  authentication: Promise<Caller | undefined>,
): Promise<RenderedAnswer | EventStream> {
  const { route, request } = exchange
  const expectedCaller = request.caller
  const response = Promise.try(perform, exchange)
  response.catch(() => undefined) // returned below, or not needed
  request.caller = await authentication
  if (isSameCaller(request.caller, expectedCaller)) return response
  await limit(route, request)
  if (!request.caller) throw invalidToken(request.headers.authorization!)
  await admit(route, request)
  return perform(exchange)
}

/** Answers that belong to a caller or hold tokens are not cached (RFC 6749, section 5.1); a handler may set another value. */
function forbidCaching({ method }: RouteContext, { headers }: AdmittedRequest, reply: FastifyReply): void {
  if (method !== 'GET' || headers.authorization !== undefined) reply.header('cache-control', 'no-store')
}

/**
 * Finds the caller by the token, or lets a read begin for the last caller of the token.
 *
 * @returns the error to answer if the token belongs to nobody
 */
async function authenticate(route: RouteContext, request: AdmittedRequest): Promise<ApiError | undefined> {
  const { authorization } = request.headers
  if (route.spec.access === 'public' || authorization === undefined) return undefined
  const token = bearerToken(authorization)
  if (token === undefined) return invalidToken(authorization)
  const authentication = route.server.authenticate(token)
  if (expectCaller(route, request, token, authentication)) return undefined
  request.caller = await authentication
  return request.caller ? undefined : invalidToken(authorization)
}

/** Whether the request may go on for the last caller of its token: then `respond` awaits `request.authentication`. */
function expectCaller(
  route: RouteContext,
  request: AdmittedRequest,
  token: string,
  authentication: Promise<Caller | undefined>,
): boolean {
  const { expectedCallers } = route
  if (!expectedCallers) return false
  const recording = expectedCallers.update(token, authentication)
  const caller = expectedCallers.get(token)
  if (!caller || !isAdmitted(route, caller)) return false
  request.caller = caller
  request.authentication = recording
  return true
}

/**
 * Asks the policy, and reports who may not call a route of operators or administrators.
 *
 * @throws UNAUTHORIZED, FORBIDDEN, EMAIL_NOT_VERIFIED
 */
async function admit(route: RouteContext, request: AdmittedRequest): Promise<void> {
  try {
    route.server.policy.admit(request.caller, route.target)
  } catch (error) {
    const isDenied = error instanceof ApiError && error.code === errors.forbidden.code
    if (isDenied && (route.spec.access === 'operator' || route.spec.access === 'admin'))
      await route.server.onDenied({ actor: actorIn(route, request), path: pathOf(request) })
    throw error
  }
}

/** Without the query. */
const pathOf = ({ url }: AdmittedRequest): string => url.split('?', 1)[0]!.slice(0, PATH_MAX)

const PATH_MAX = 300

function isAdmitted(route: RouteContext, caller: Caller): boolean {
  try {
    route.server.policy.admit(caller, route.target)
    return true
  } catch {
    return false
  }
}

/** @throws RATE_LIMITED */
function limit({ limit: counting }: RouteContext, request: AdmittedRequest): Promise<void> | undefined {
  if (!counting?.counted.includes(callerKind(request.caller))) return undefined
  return takeCall(counting.limiter, `${counting.name} ${countedFor(request)}`, counting)
}

/**
 * Of a raw body the handler gets the bytes as they are.
 *
 * @throws UNSUPPORTED_MEDIA_TYPE if the body is compressed: https://www.rfc-editor.org/rfc/rfc9110#section-15.5.16
 */
function refuseCoding({ spec }: RouteContext, { headers }: AdmittedRequest): void {
  if (headers['content-encoding']?.toLowerCase() === 'identity' || spec.body?.kind === 'raw') return
  throw errors.unsupported_media_type({
    message: 'Send the body without compression, and without the header Content-Encoding.',
    headers: { 'accept-encoding': 'identity' },
  })
}

/** @throws PAYLOAD_TOO_LARGE if the body is larger than is read without a token, or could be */
function limitBody({ headers }: AdmittedRequest): void {
  const isSized = headers['transfer-encoding'] === undefined
  if (isSized && Number(headers['content-length'] ?? 0) <= ANONYMOUS_BODY_LIMIT) return
  throw errors.payload_too_large({
    message: isSized
      ? `The body is larger than ${ANONYMOUS_BODY_LIMIT} bytes, the most that is read without a token.`
      : 'Send the body with a content-length: without a token, a body of unknown length is not read.',
  })
}

/** Waits for a place among the requests and bodies of the process. @throws TOO_MANY_CONCURRENT, UNAVAILABLE */
function takeShare(
  { target, spec, bodyMax, server }: RouteContext,
  request: AdmittedRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  // Whether the server works is asked and answered in any case.
  if (target.wire === 'core') return undefined
  // The share is released when the response closes, which would not happen again.
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  request.share = new Share(server.limits, request)
  const weight = spec.body ? weightOfBody(request.headers, bodyMax, spec.body.kind === 'multipart') : 0
  return request.share.begin(weight, () => signalOf(reply.raw, undefined))
}

/** The engine validates; of reads that start early it leaves the error to this, because 401 takes precedence over 400. */
function validate({ validationError }: AdmittedRequest): void {
  if (validationError) throw validationError
}

/** Calls the handler. */
async function handle(exchange: Exchange, extras?: CallExtras): Promise<RenderedAnswer> {
  const call = new ReceivedCall(exchange, extras) as unknown as Call
  return render(exchange, await exchange.route.handle(call))
}

/** Calls a handler that may answer a stream. */
async function handleStream(exchange: Exchange): Promise<RenderedAnswer | EventStream> {
  const result = await exchange.route.handle(new ReceivedCall(exchange) as unknown as Call)
  return result instanceof EventStream ? result : render(exchange, result)
}

/** Calls the handler of a multipart body, which gives the body's fingerprint itself once it has read the bytes. */
async function handleUpload(
  exchange: Exchange,
  checks: FieldChecks,
  key: string | undefined,
): Promise<RenderedAnswer> {
  const { route, request } = exchange
  if (!request.isMultipart()) throw invalid({ path: '/body', message: 'is required' })
  const reader = new MultipartReader(request, checks)
  request.body = reader
  let isKeyUsed = key === undefined
  async function once(fingerprint: unknown, create: (recordId: string) => unknown): Promise<unknown> {
    isKeyUsed = true
    if (key === undefined) return create(route.server.newId())
    const { status, headers, body } = await answerOnce(exchange, key, fingerprint, async (recordId) =>
      render(exchange, await create(recordId)),
    )
    return answer(body, { status, headers: { ...headers, 'content-type': JSON_TYPE } })
  }
  try {
    await reader.open()
    const response = await handle(exchange, { once })
    if (!isKeyUsed)
      throw new Error(`${route.key} takes an Idempotency-Key and must return what call.once returns`)
    return response
  } finally {
    reader.close()
  }
}

/** An answer as it is sent: JSON text, or what the handler answers in another form. */
type RenderedAnswer = StoredAnswer | Answer<unknown>

/** Answers with a stream, which is no call under way. Of HEAD, with its head. */
async function openStream({ route, request, reply }: Exchange, stream: EventStream): Promise<FastifyReply> {
  const { streams } = route.server
  if (request.method === 'HEAD') {
    sendHead(reply, stream.contentType)
    reply.raw.end()
    return reply
  }
  // Requests that were sent ahead would wait for the end of the stream.
  if (request.raw.socket.isPaused())
    throw errors.validation_error({ message: 'An event stream must be the last request on its connection.' })
  const token = bearerToken(request.headers.authorization ?? '')
  const expiresAt = request.caller && token ? await streams.tokenExpiry(token) : undefined
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  streams.open(stream, reply, { caller: request.caller, ip: request.ip, expiresAt })
  request.settle(200)
  forgetHeaders(request.raw)
  return reply
}

/** What the client sent is not read any more, and would take a kilobyte or two as long as the stream is open. */
function forgetHeaders(raw: AdmittedRequest['raw']): void {
  raw.rawHeaders = []
  raw.headers = {}
}

/** Serializes a result of the handler, unless it is in the form in which it is sent. */
function render({ route, reply }: Exchange, result: unknown): RenderedAnswer {
  const response: Answer<unknown> = result instanceof Answer ? result : answer(result, {})
  const content: unknown = response.body
  const { status = route.defaultStatus, headers } = response
  if (typeof content === 'string' || Buffer.isBuffer(content) || isStream(content)) return response
  const text =
    content instanceof JsonText
      ? content.text
      : (reply.serializeInput(content as Record<string, unknown>, String(status)) as string)
  return { status, headers, body: text }
}

const isStream = (body: unknown): boolean => typeof (body as { pipe?: unknown } | null)?.pipe === 'function'

/** Of an answer whose size is not known, none: it is produced as fast as it is taken. */
const sizeOf = ({ body }: RenderedAnswer): number =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.length : 0

function send(reply: FastifyReply, response: RenderedAnswer): FastifyReply {
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
