import { inspect } from 'node:util'

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../base/logger.ts'
import { ApiError, errors, invalid } from '../base/errors.ts'
import { oneLine } from '../base/one-line.ts'
import { FORM_TYPE, JSON_MEDIA_TYPE } from './body-parsers.ts'
import { isLocalCall } from './local-call.ts'
import type { AdmittedRequest } from './admitted-request.ts'
import type { ErrorDetails } from './route.ts'
import { specOf } from './spec-of.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const BODY_LIMIT = 1_048_576

/**
 * The body of every failure.
 *
 * @param routeDetails details of every error of the route; those of the error itself take precedence
 */
export function envelope({ code, message, details: own }: ApiError, routeDetails?: ErrorDetails) {
  const details = routeDetails || own ? { ...routeDetails, ...own } : undefined
  return { error: { code, message, ...(details && { details }) } }
}

// Errors that the engine finds before a handler runs, https://fastify.dev/docs/latest/Reference/Errors/
const BY_CODE: Record<string, (request: FastifyRequest) => ApiError> = {
  FST_ERR_BAD_URL: () => invalid({ path: '/params', message: 'the path is not percent-encoded UTF-8' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    invalid({ path: '/headers/content-length', message: 'is not the length of the body' }),
}
const BY_STATUS: Record<number, (request: FastifyRequest) => ApiError> = {
  404: () => errors.not_found(),
  413: ({ routeOptions: { bodyLimit } }) =>
    errors.payload_too_large({ message: `The body is larger than ${bodyLimit} bytes.` }),
  415: ({ headers }) =>
    errors.unsupported_media_type(
      headers['content-type']?.startsWith(FORM_TYPE)
        ? {
            message: `Send the body as ${JSON_MEDIA_TYPE}: with curl, add -H 'content-type: ${JSON_MEDIA_TYPE}'.`,
          }
        : {},
    ),
  503: () => errors.unavailable({ retryAfter: 1 }),
}

function apiErrorOf(thrown: unknown, request: FastifyRequest): ApiError | undefined {
  if (thrown instanceof ApiError) return thrown
  const { statusCode, code, message } = (thrown ?? {}) as Partial<FastifyError>
  if (statusCode === undefined || typeof code !== 'string' || !code.startsWith('FST_')) return undefined
  const errorFor = BY_CODE[code] ?? BY_STATUS[statusCode]
  if (errorFor) return errorFor(request)
  return statusCode < 500
    ? errors.validation_error({ message: `The request can't be read: ${message}` })
    : undefined
}

// What Node's streams report of a connection that has ended: https://nodejs.org/api/errors.html#nodejs-error-codes
const INTERRUPTED: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_UNABLE_TO_PIPE',
  'ABORT_ERR',
])

/** The error for what is thrown because the client disconnects; undefined if it is of another kind, and so a bug. */
const interruption = (thrown: unknown): ApiError | undefined =>
  INTERRUPTED.has((thrown as { code?: unknown } | null | undefined)?.code)
    ? errors.unavailable({ message: 'The client closed the connection before it was answered.' })
    : undefined

const LONGEST_LINE = 500
// The file of a stack frame, its line and its column: https://v8.dev/docs/stack-trace-api
const FRAME = /^ +at (?:async )?(?:[^(]*\()?((?:file:|\/|[A-Z]:).*:\d+:\d+)\)?$/

/** A bug in one line: the error, and its first place outside of packages and of Node. */
function bugOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `A value was thrown that is not an error: ${describeValue(thrown)}`
  const { name, message, stack = '' } = thrown
  // The message may contain what a caller sent, and that may look like a place.
  const place = stack
    .replace(message, () => '')
    .split('\n')
    .filter((line) => line.length <= LONGEST_LINE && !/node:|node_modules/.test(line))
    .map((line) => FRAME.exec(line)?.[1])
    .find((frame) => frame !== undefined)
  return `${oneLine(`${name}: ${message}`, LONGEST_LINE)}${place === undefined ? '' : ` (at ${place})`}`
}

/** Any value in one line; unlike `String` it never throws. */
function describeValue(value: unknown): string {
  const text =
    typeof value === 'string'
      ? value
      : inspect(value, { customInspect: false, depth: 0, breakLength: Infinity })
  return oneLine(text, LONGEST_LINE)
}

/** Answers an error, from wherever it was thrown. */
export type AnswerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/**
 * @param options.production whether the answer to a bug contains only the request id, to look up in the log; otherwise
 *   callers on this machine also get the error and its place
 */
export function createAnswerError({ log, production }: { log: Logger; production: boolean }): AnswerError {
  /** The error to answer; logs it if the operator needs to know. */
  function classify(thrown: unknown, request: FastifyRequest): ApiError {
    const isGone = request.raw.socket.destroyed
    const apiError = apiErrorOf(thrown, request) ?? (isGone ? interruption(thrown) : undefined)
    const requestId = request.id
    if (apiError) {
      // If the client has disconnected, the line of the answer says so.
      if (apiError.status >= 500 && !isGone) {
        // A refusal, as while the server starts, has no cause whose stack would tell more.
        const isRefusal = apiError.status === 503 && apiError.cause === undefined
        log.warn({ requestId, ...(!isRefusal && { err: apiError }) }, apiError.message)
      }
      return apiError
    }
    const message =
      !production && isLocalCall(request.raw)
        ? { message: `${bugOf(thrown)}. The log has the stack under this request id.` }
        : {}
    // Any error that is not from an error table is a bug.
    log.error(
      { requestId, err: typeof thrown === 'object' && thrown ? thrown : describeValue(thrown) },
      'an unexpected error answered 500',
    )
    return errors.internal_error({ details: { requestId }, ...message })
  }

  function answerOf(thrown: unknown, request: FastifyRequest): ApiError {
    try {
      return classify(thrown, request)
    } catch {
      // A getter or a proxy trap of the value throws.
      return classify(`${describeValue(thrown)}, which can't be read completely`, request)
    }
  }

  return (thrown, request, reply) => {
    const error = answerOf(thrown, request)
    const { flight } = request as Partial<AdmittedRequest>
    if (flight) flight.errorCode = error.code
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id)
    if (error.status === 401) reply.header('www-authenticate', 'Bearer')
    const retryAfter = error.retryAfter ?? (error.status === 503 ? 1 : undefined)
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
    void reply
      .code(error.status)
      .headers(error.headers ?? {})
      .serializer((payload: unknown) => JSON.stringify(payload))
      .header('content-type', JSON_TYPE)
      .send(envelope(error, specOf(request)?.errorDetails))
  }
}
