import { ApiError, errors } from '../base/errors.ts'
import type { Caller } from './access.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import { bearerToken, invalidToken } from './bearer-token.ts'
import { isMultipart } from './body-parsers.ts'
import { signalOf } from './call-signal.ts'
import { countedFor, takeCall } from './limits.ts'
import { actorIn, type Exchange } from './received-call.ts'
import { ANONYMOUS_BODY_LIMIT, type RouteContext } from './route-context.ts'
import { weightOfBody } from './traffic.ts'

/** A step before the body is read; it throws what is answered in place of the handler's answer. */
export type RequestPhase = (exchange: Exchange) => Promise<void> | void

/** Answers that belong to a caller or hold tokens are not cached (RFC 6749, section 5.1); a handler may set another value. */
export function forbidCaching({ route, request }: Exchange): void {
  if (route.method !== 'GET' || request.headers.authorization !== undefined)
    request.flight.headers['cache-control'] = 'no-store'
}

/** Sets the headers of every answer of the route. */
export const setAnswerHeaders = ({ route, request }: Exchange): void =>
  void Object.assign(request.flight.headers, route.spec.answerHeaders!)

/** Finds the caller by the token. @throws UNAUTHORIZED if it belongs to nobody */
export function authenticate(exchange: Exchange): Promise<void> | void {
  const { route, request } = exchange
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const token = bearerToken(authorization)
  if (token === undefined) return refuseToken(exchange)
  const caller = route.server.authenticate(token)
  if (caller instanceof Promise)
    return route.expectedCallers ? expectCaller(exchange, token, caller) : setCaller(exchange, caller)
  if (!caller) return refuseToken(exchange)
  request.caller = caller
}

/** Lets a read begin for the last caller of its token, if there is one: then `performEarly` awaits `authentication`. */
function expectCaller(
  exchange: Exchange,
  token: string,
  authentication: Promise<Caller | undefined>,
): Promise<void> | void {
  const { route, request } = exchange
  const recording = route.expectedCallers!.update(token, authentication)
  const caller = route.expectedCallers!.get(token)
  if (!caller || !isAdmitted(route, caller)) return setCaller(exchange, recording)
  request.caller = caller
  request.authentication = recording
}

async function setCaller(exchange: Exchange, authentication: Promise<Caller | undefined>): Promise<void> {
  exchange.request.caller = await authentication
  if (!exchange.request.caller) await refuseToken(exchange)
}

/** A call with an invalid token is counted as well. @throws UNAUTHORIZED, RATE_LIMITED */
export async function refuseToken(exchange: Exchange): Promise<never> {
  if (exchange.route.limit) await countCall(exchange)
  throw invalidToken(exchange.request.headers.authorization!)
}

/**
 * Asks the policy, and reports who may not call a route of operators or administrators.
 *
 * @throws UNAUTHORIZED, FORBIDDEN, EMAIL_NOT_VERIFIED
 */
export function admit({ route, request }: Exchange): Promise<void> | void {
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
export function countCall({ route, request }: Exchange): Promise<void> | void {
  const { limiter, name, counted, count, periodMs } = route.limit!
  if (!counted.includes(request.caller?.kind ?? 'stranger')) return undefined
  return takeCall(limiter, `${name} ${countedFor(request)}`, { count, periodMs })
}

/** Checks credentials in the headers. */
export const authorize = ({ route, request }: Exchange): void => route.spec.authorize!(request.headers)

/** @throws UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE */
export function checkBodyHeaders({ route, request }: Exchange): void {
  const { headers } = request
  // Nothing is of no media type. Tools for forms send one with it.
  if (headers['content-length'] === '0') delete headers['content-type']
  if (headers['content-encoding'] !== undefined) refuseCoding(route, request)
  const hasFiles = route.fieldChecks !== undefined && isMultipart(headers)
  if (route.hasDefaultBodyMax && !request.caller && !hasFiles) limitBody(request)
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

/** What of the body is in memory. */
function weightOf({ spec: { body }, bodyMax }: RouteContext, { headers }: AdmittedRequest): number {
  if (!body) return 0
  const files = body.kind === 'json' && isMultipart(headers) ? body.files : undefined
  const isStreamed = body.kind === 'multipart' || body.kind === 'stream'
  return files
    ? weightOfBody(headers, files.maxBytes, 'json and files')
    : weightOfBody(headers, bodyMax, isStreamed ? 'files' : 'whole')
}

/** Waits for a place among the requests and bodies of the process. @throws TOO_MANY_CONCURRENT, UNAVAILABLE */
export function takePlace({ route, request, reply }: Exchange): Promise<void> | void {
  // The place is given back when the response closes, which would not happen again.
  if (reply.raw.closed) signalOf(reply.raw, undefined).throwIfAborted()
  return request.flight.takePlace(weightOf(route, request), () => signalOf(reply.raw, undefined))
}
