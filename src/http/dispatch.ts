import type { Readable } from 'node:stream'

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
import { countedFor, takeCall } from './limits.ts'
import { MultipartReader } from './multipart.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { actorIn, ReceivedCall, type CallExtras, type Exchange } from './received-call.ts'
import type { Caller } from './access.ts'
import { Answer, answer, JsonText, type Call, type Method } from './route.ts'
import { ANONYMOUS_BODY_LIMIT, type RouteContext } from './route-context.ts'
import { weightOfBody } from './traffic.ts'

/** Called before any route is registered: all requests then have one shape, which the runtime reads faster. */
export const prepareRequests = (engine: FastifyInstance): void =>
  void engine
    .decorateRequest('caller', undefined)
    .decorateRequest('authentication', undefined)
    .decorateRequest('flight', undefined)

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
  const phases = phasesOf(route)
  const perform = performOf(route)
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
    onRequest: (request, reply) => receive(phases, { route, request: request as AdmittedRequest, reply }),
    handler: (request, reply) => respond(perform, { route, request: request as AdmittedRequest, reply }),
  })
}

/** A step before the body is read; it throws what is answered in its place. */
type Phase = (exchange: Exchange) => Promise<void> | void

/** Decides what is done before the body is read, in this order. What a route does not use is not run for it. */
function phasesOf({ spec, target, limit }: RouteContext): readonly Phase[] {
  const phases = [
    forbidCaching,
    spec.access !== 'public' && authenticate,
    spec.access !== 'public' && admit,
    limit && countCall,
    spec.authorize && authorize,
    checkBodyHeaders,
    // Whether the server works is asked and answered in any case.
    target.wire !== 'core' && takePlace,
  ]
  return phases.filter((phase) => typeof phase === 'function')
}

async function receive(phases: readonly Phase[], exchange: Exchange): Promise<void> {
  for (const phase of phases) {
    const pending = phase(exchange)
    if (pending) await pending
  }
}

/** Calls the handler, in the way of the route, and renders what it answers. */
type Perform = (exchange: Exchange) => Promise<RenderedAnswer | EventStream>

function performOf({ spec, fieldChecks, expectedCallers }: RouteContext): Perform {
  const perform = spec.stream
    ? handleStream
    : fieldChecks
      ? handleUpload
      : spec.idempotent
        ? handleOnce
        : handle
  return expectedCallers ? (exchange) => performEarly(exchange, perform) : perform
}

/** What is done after the body is read. */
async function respond(perform: Perform, exchange: Exchange): Promise<unknown> {
  const { flight } = exchange.request
  flight.enterHandler()
  try {
    const response = await perform(exchange)
    if (response instanceof EventStream) return void (await openStream(exchange, response))
    if (flight.hasRoom) flight.answerHas(sizeOf(response))
    return send(exchange.reply, response)
  } finally {
    flight.leaveHandler()
  }
}

/** Performs a read while its token is authenticated again; nothing is answered before the token is found valid. */
async function performEarly(exchange: Exchange, perform: Perform): Promise<RenderedAnswer | EventStream> {
  const { route, request } = exchange
  // The engine validates; of reads that start early it leaves the error to this, because 401 takes precedence over 400.
  const validated: Perform = request.validationError
    ? () => Promise.reject(request.validationError!)
    : perform
  if (!request.authentication) return validated(exchange)
  const expectedCaller = request.caller
  const response = validated(exchange)
  response.catch(() => undefined) // returned below, or not needed
  request.caller = await request.authentication
  if (isSameCaller(request.caller, expectedCaller)) return response
  if (!request.caller) return refuseToken(exchange)
  if (route.limit) await countCall(exchange)
  await admit(exchange)
  return validated(exchange)
}

/** Answers that belong to a caller or hold tokens are not cached (RFC 6749, section 5.1); a handler may set another value. */
function forbidCaching({ route, request, reply }: Exchange): void {
  if (route.method !== 'GET' || request.headers.authorization !== undefined)
    reply.header('cache-control', 'no-store')
}

/** Finds the caller by the token. @throws UNAUTHORIZED if it belongs to nobody */
function authenticate(exchange: Exchange): Promise<void> | void {
  const { route, request } = exchange
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const token = bearerToken(authorization)
  if (token === undefined) return refuseToken(exchange)
  const caller = route.server.authenticate(token)
  if (caller instanceof Promise) return awaitCaller(exchange, token, caller)
  if (!caller) return refuseToken(exchange)
  request.caller = caller
}

/** Sets the caller once it is known, or lets a read begin for the last caller of the token: see `performEarly`. */
function awaitCaller(
  exchange: Exchange,
  token: string,
  authentication: Promise<Caller | undefined>,
): Promise<void> | void {
  const { route, request } = exchange
  const { expectedCallers } = route
  if (!expectedCallers) return setCaller(exchange, authentication)
  const recording = expectedCallers.update(token, authentication)
  const caller = expectedCallers.get(token)
  if (!caller || !isAdmitted(route, caller)) return setCaller(exchange, recording)
  request.caller = caller
  request.authentication = recording
}

async function setCaller(exchange: Exchange, authentication: Promise<Caller | undefined>): Promise<void> {
  exchange.request.caller = await authentication
  if (!exchange.request.caller) await refuseToken(exchange)
}

/** A call with an invalid token is counted as well. @throws UNAUTHORIZED, RATE_LIMITED */
async function refuseToken(exchange: Exchange): Promise<never> {
  if (exchange.route.limit) await countCall(exchange)
  throw invalidToken(exchange.request.headers.authorization!)
}

/**
 * Asks the policy, and reports who may not call a route of operators or administrators.
 *
 * @throws UNAUTHORIZED, FORBIDDEN, EMAIL_NOT_VERIFIED
 */
function admit({ route, request }: Exchange): Promise<void> | void {
  try {
    route.server.policy.admit(request.caller, route.target)
  } catch (error) {
    const { access } = route.spec
    const isDenied = error instanceof ApiError && error.code === errors.forbidden.code
    if (!isDenied || (access !== 'operator' && access !== 'admin')) throw error
    // Without the query.
    const path = request.url.split('?', 1)[0]!.slice(0, PATH_MAX)
    return route.server.onDenied({ actor: actorIn(route, request), path }).then(() => Promise.reject(error))
  }
}

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
function countCall({ route, request }: Exchange): Promise<void> | void {
  const { limiter, name, counted, count, periodMs } = route.limit!
  if (!counted.includes(request.caller?.kind ?? 'stranger')) return undefined
  return takeCall(limiter, `${name} ${countedFor(request)}`, { count, periodMs })
}

/** Checks credentials in the headers. */
const authorize = ({ route, request }: Exchange): void => route.spec.authorize!(request.headers)

/** @throws UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE */
function checkBodyHeaders({ route, request }: Exchange): void {
  const { headers } = request
  // Nothing is of no media type. Tools for forms send one with it.
  if (headers['content-length'] === '0') delete headers['content-type']
  if (headers['content-encoding'] !== undefined) refuseCoding(route, request)
  if (route.hasDefaultBodyMax && !request.caller) limitBody(request)
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
function takePlace({ route, request, reply }: Exchange): Promise<void> | void {
  // The place is given back when the response closes, which would not happen again.
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  const { body } = route.spec
  const weight = body ? weightOfBody(request.headers, route.bodyMax, body.kind === 'multipart') : 0
  return request.flight.takePlace(weight, () => signalOf(reply.raw, undefined))
}

/** Calls the handler. */
async function handle(exchange: Exchange, extras?: CallExtras): Promise<RenderedAnswer> {
  const call = new ReceivedCall(exchange, extras) as unknown as Call
  return render(exchange, await exchange.route.handle(call))
}

/** Calls the handler, unless it has been called under the `Idempotency-Key` of the request. */
function handleOnce(exchange: Exchange): Promise<RenderedAnswer> {
  const header = exchange.request.headers['idempotency-key']
  const key = header === undefined ? undefined : idempotencyKey(header)
  if (key === undefined) return handle(exchange)
  return answerOnce(exchange, key, contentOf(exchange), (recordId) => handle(exchange, { recordId }))
}

/** Calls a handler that may answer a stream. */
async function handleStream(exchange: Exchange): Promise<RenderedAnswer | EventStream> {
  const result = await exchange.route.handle(new ReceivedCall(exchange) as unknown as Call)
  return result instanceof EventStream ? result : render(exchange, result)
}

/** Calls the handler of a multipart body, which gives the body's fingerprint itself once it has read the bytes. */
async function handleUpload(exchange: Exchange): Promise<RenderedAnswer> {
  const { route, request } = exchange
  const header = route.spec.idempotent ? request.headers['idempotency-key'] : undefined
  const key = header === undefined ? undefined : idempotencyKey(header)
  if (!request.isMultipart()) throw invalid({ path: '/body', message: 'is required' })
  const reader = new MultipartReader(request, route.fieldChecks!)
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
async function openStream({ route, request, reply }: Exchange, stream: EventStream): Promise<void> {
  const { streams } = route.server
  if (request.method === 'HEAD') {
    sendHead(reply, stream.contentType)
    reply.raw.end()
    return
  }
  // Requests that were sent ahead would wait for the end of the stream.
  if (request.raw.socket.isPaused())
    throw errors.validation_error({ message: 'An event stream must be the last request on its connection.' })
  const token = bearerToken(request.headers.authorization ?? '')
  const expiresAt = request.caller && token ? await streams.tokenExpiry(token) : undefined
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  streams.open(stream, reply, { caller: request.caller, ip: request.ip, expiresAt })
  request.flight.settle(200)
  forgetHeaders(request.raw)
}

/** What the client sent is not read any more, and would take a kilobyte or two as long as the stream is open. */
function forgetHeaders(raw: AdmittedRequest['raw']): void {
  raw.rawHeaders = []
  raw.headers = {}
}

/** Serializes a result of the handler, unless it is in the form in which it is sent. */
function render({ route, reply }: Exchange, result: unknown): RenderedAnswer {
  const isAnswer = result instanceof Answer
  const content: unknown = isAnswer ? result.body : result
  const { status = route.defaultStatus, headers = {} } = isAnswer ? result : {}
  if (content instanceof JsonText) return { status, headers, body: content.text }
  if (typeof content === 'string' || Buffer.isBuffer(content) || isStream(content))
    return isAnswer ? result : answer(content, {})
  const body = reply.serializeInput(content as Record<string, unknown>, String(status)) as string
  return { status, headers, body }
}

const isStream = (body: unknown): body is Readable =>
  typeof (body as { pipe?: unknown } | null)?.pipe === 'function'

/** Of an answer whose size is not known, none: it is produced as fast as it is taken. */
const sizeOf = ({ body }: RenderedAnswer): number =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.length : 0

/** Sets the head of the answer. @returns its body, which the engine sends */
function send(reply: FastifyReply, response: RenderedAnswer): unknown {
  reply.code(response.status ?? 200).headers(response.headers)
  if (response instanceof Answer) return response.body
  reply.header('content-type', JSON_TYPE)
  return response.body.length > LONG_TEXT ? Buffer.from(response.body) : response.body
}

// A text is copied once more behind its headers, and takes three bytes for each character until a slow client has it.
const LONG_TEXT = 262_144
