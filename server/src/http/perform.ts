import { errors, invalid } from '../base/errors.ts'
import type { Caller } from './access.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { bearerToken } from './bearer-token.ts'
import { signalOf } from './call-signal.ts'
import { EventStream } from './event-stream.ts'
import { isSameCaller } from './expected-callers.ts'
import { JSON_TYPE } from './failures.ts'
import { idempotencyKey } from './idempotency.ts'
import { answerOnce, contentOf } from './idempotent-answer.ts'
import { MultipartReader } from './multipart.ts'
import { sendHead } from './open-event-stream.ts'
import { admit, countCall, refuseToken } from './phases.ts'
import { ReceivedCall, type CallExtras, type Exchange } from './received-call.ts'
import { render, type RenderedAnswer } from './rendered-answer.ts'
import { answer, type Call } from './route.ts'
import { StreamReader } from './stream-reader.ts'
import type { Validate } from './validation.ts'

/** Calls the handler and renders what it answers. */
export type Perform = (exchange: Exchange) => Promise<RenderedAnswer | EventStream>

/** Calls the handler. */
export async function handle(exchange: Exchange, extras?: CallExtras): Promise<RenderedAnswer> {
  const call = new ReceivedCall(exchange, extras) as unknown as Call
  return render(exchange, await exchange.route.handle(call))
}

/** Calls the handler, unless it has been called under the `Idempotency-Key` of the request. */
export function handleOnce(exchange: Exchange): Promise<RenderedAnswer> {
  const header = exchange.request.headers['idempotency-key']
  const key = header === undefined ? undefined : idempotencyKey(header)
  if (key === undefined) return handle(exchange)
  return answerOnce(exchange, key, contentOf(exchange), (recordId, isRepeated, claimedKey) =>
    handle(exchange, { recordId, isRepeated, claimedKey }),
  )
}

/** Calls a handler that may answer a stream. */
export async function handleStream(exchange: Exchange): Promise<RenderedAnswer | EventStream> {
  const result = await exchange.route.handle(new ReceivedCall(exchange) as unknown as Call)
  return result instanceof EventStream ? result : render(exchange, result)
}

/** Calls the handler of a body that it reads as it arrives. */
export async function handleBytes(exchange: Exchange): Promise<RenderedAnswer> {
  const { body } = exchange.request
  try {
    return await handle(exchange)
  } finally {
    if (body instanceof StreamReader) body.close()
  }
}

/** Calls the handler of a multipart body, which gives the body's fingerprint itself once it has read the bytes. */
export async function handleUpload(exchange: Exchange): Promise<RenderedAnswer> {
  const { route, request } = exchange
  const header = route.spec.idempotent ? request.headers['idempotency-key'] : undefined
  const key = header === undefined ? undefined : idempotencyKey(header)
  if (!request.isMultipart()) throw invalid({ path: '/body', message: 'is required' })
  const checks = route.fieldChecks!
  const reader = new MultipartReader(request, checks)
  request.body = reader
  let isKeyUsed = key === undefined
  async function once(
    fingerprint: unknown,
    create: (recordId: string, isRepeated: boolean) => unknown,
  ): Promise<unknown> {
    isKeyUsed = true
    if (key === undefined) return create(route.server.newId(), false)
    const { status, headers, body } = await answerOnce(
      exchange,
      key,
      fingerprint,
      async (recordId, isRepeated) => render(exchange, await create(recordId, isRepeated)),
    )
    return answer(body, { status, headers: { ...headers, 'content-type': JSON_TYPE } })
  }
  try {
    await reader.open()
    const response = await handle(
      exchange,
      checks.json ? { once, body: reader.json, upload: reader } : { once },
    )
    if (!isKeyUsed)
      throw new Error(`${route.key} takes an Idempotency-Key and must return what call.once returns`)
    return response
  } finally {
    reader.close()
  }
}

/** Calls the handler with a body of JSON, or with one that comes with files. */
export const jsonOrUpload =
  (check: Validate, whole: (exchange: Exchange) => Promise<RenderedAnswer>): Perform =>
  async (exchange) => {
    const { request } = exchange
    if (request.isMultipart()) return handleUpload(exchange)
    const result = check(request.body ?? null)
    if ('error' in result) throw result.error
    request.body = result.value
    return whole(exchange)
  }

/** Performs a read while its token is authenticated again; nothing is answered before the token is found valid. */
export const performEarly = (perform: Perform): Perform => {
  // The engine validates; of reads that start early it leaves the error to this, because 401 takes precedence over 400.
  const validated: Perform = (exchange) =>
    exchange.request.validationError ? Promise.reject(exchange.request.validationError) : perform(exchange)
  return (exchange) => {
    const { authentication } = exchange.request
    return authentication ? performMeanwhile(exchange, authentication, validated) : validated(exchange)
  }
}

async function performMeanwhile(
  exchange: Exchange,
  authentication: Promise<Caller | undefined>,
  perform: Perform,
): Promise<RenderedAnswer | EventStream> {
  const { route, request } = exchange
  const expectedCaller = request.caller
  const response = perform(exchange)
  response.catch(() => undefined) // returned below, or not needed
  request.caller = await authentication
  if (isSameCaller(request.caller, expectedCaller)) return await response
  if (!request.caller) return refuseToken(exchange)
  if (route.limit) await countCall(exchange)
  await admit(exchange)
  return perform(exchange)
}

/** Answers with a stream, which is no call under way. Of HEAD, with its head. */
export async function openStream({ route, request, reply }: Exchange, stream: EventStream): Promise<void> {
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
  const owner = { caller: request.caller, ip: request.ip, expiresAt }
  const elsewhere = await streams.countElsewhere(owner)
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  streams.open(stream, reply, owner, elsewhere)
  request.flight.settle(200)
  forgetHeaders(request.raw)
}

/** What the client sent is not read any more, and would take a kilobyte or two as long as the stream is open. */
function forgetHeaders(raw: AdmittedRequest['raw']): void {
  raw.rawHeaders = []
  raw.headers = {}
}
