import { maxHeaderSize } from 'node:http'
import { inspect } from 'node:util'

import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'

import { ApiError, errors, invalid, type Issue } from '../base/errors.ts'
import { oneLine } from '../base/one-line.ts'
import { isLocalCall } from './local-call.ts'
import type { ErrorDetails } from './route.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const BODY_LIMIT = 1_048_576

/**
 * The body of every failure.
 *
 * @param always details of every error of the route; the error's own win
 */
export function envelope({ code, message, details: own }: ApiError, always?: ErrorDetails) {
  const details = always || own ? { ...always, ...own } : undefined
  return { error: { code, message, ...(details && { details }) } }
}

declare module 'fastify' {
  // What a route registers with the engine, read again from its requests.
  interface FastifyContextConfig {
    errorDetails?: ErrorDetails
  }
}

// Faults of Node's HTTP parser that have a place in the request.
const UNREADABLE: Record<string, Issue> = {
  HPE_HEADER_OVERFLOW: { path: '/headers', message: `are, with the address, over ${maxHeaderSize} bytes` },
  HPE_INVALID_URL: { path: '/params', message: 'the address holds a character that is not percent-encoded' },
}

/** What is answered where no request could be read. */
export function unreadable(code = ''): ApiError {
  const issue = UNREADABLE[code]
  return issue ? invalid(issue) : errors.validation_error({ message: 'This is not HTTP that can be read.' })
}

// Faults that the engine finds before a handler runs, https://fastify.dev/docs/latest/Reference/Errors/
const BY_CODE: Record<string, () => ApiError> = {
  FST_ERR_BAD_URL: () => invalid({ path: '/params', message: 'the path is not percent-encoded UTF-8' }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    invalid({ path: '/headers/content-length', message: 'is not the length of the body' }),
}
const BY_STATUS: Record<number, (request: FastifyRequest) => ApiError> = {
  404: () => errors.not_found(),
  413: ({ routeOptions: { bodyLimit } }) =>
    errors.payload_too_large({ message: `The body is larger than ${bodyLimit} bytes.` }),
  415: () => errors.unsupported_media_type(),
  503: () => errors.unavailable({ retryAfter: 1 }),
}

function apiErrorOf(thrown: unknown, request: FastifyRequest): ApiError | undefined {
  if (thrown instanceof ApiError) return thrown
  const { statusCode, code, message } = (thrown ?? {}) as Partial<FastifyError>
  if (statusCode === undefined || typeof code !== 'string' || !code.startsWith('FST_')) return undefined
  const known = BY_CODE[code] ?? BY_STATUS[statusCode]
  if (known) return known(request)
  return statusCode < 500
    ? errors.validation_error({ message: `The request can't be read: ${message}` })
    : undefined
}

const LONGEST_LINE = 500
// The file of a stack frame, its line and its column: https://v8.dev/docs/stack-trace-api
const FRAME = /^ +at (?:async )?(?:[^(]*\()?((?:file:|\/|[A-Z]:).*:\d+:\d+)\)?$/

/** A bug in one line: what was thrown, and the first place outside of packages and of Node. */
function bugOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `This was thrown, which is no error: ${shown(thrown)}`
  const { name, message, stack = '' } = thrown
  // The message may hold what a caller sent: it is no place, however much it looks like one.
  const place = stack
    .replace(message, () => '')
    .split('\n')
    .filter((line) => line.length <= LONGEST_LINE && !/node:|node_modules/.test(line))
    .map((line) => FRAME.exec(line)?.[1])
    .find((found) => found !== undefined)
  return `${oneLine(`${name}: ${message}`, LONGEST_LINE)}${place === undefined ? '' : ` (at ${place})`}`
}

/** Any value in one line; unlike `String` it never throws. */
function shown(value: unknown): string {
  const text =
    typeof value === 'string'
      ? value
      : inspect(value, { customInspect: false, depth: 0, breakLength: Infinity })
  return oneLine(text, LONGEST_LINE)
}

/** What answers an error, wherever it was thrown. */
export type AnswerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/**
 * @param options.production whether no caller is told anything of a bug but the request id to look for in the log;
 *   else those of this machine are
 */
export function createAnswerError({
  log,
  production,
}: {
  log: FastifyBaseLogger
  production: boolean
}): AnswerError {
  /** What is answered; logs what the operator has to know. */
  function judge(thrown: unknown, request: FastifyRequest): ApiError {
    const known = apiErrorOf(thrown, request)
    const requestId = request.id
    if (known) {
      if (known.status >= 500) log.warn({ requestId, err: known }, known.message)
      return known
    }
    const message =
      !production && isLocalCall(request.raw)
        ? { message: `${bugOf(thrown)}. The log has the stack under this request id.` }
        : {}
    // Whatever is not from an error table is a bug: the log has all of it.
    log.error(
      { requestId, err: typeof thrown === 'object' && thrown ? thrown : shown(thrown) },
      'a bug answered 500',
    )
    return errors.internal_error({ details: { requestId }, ...message })
  }

  function answerOf(thrown: unknown, request: FastifyRequest): ApiError {
    try {
      return judge(thrown, request)
    } catch {
      // A getter of it throws, or a trap.
      return judge(`${shown(thrown)}, some of which can't be read`, request)
    }
  }

  return (thrown, request, reply) => {
    const answered = answerOf(thrown, request)
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', request.id)
    if (answered.status === 401) reply.header('www-authenticate', 'Bearer')
    const retryAfter = answered.retryAfter ?? (answered.status === 503 ? 1 : undefined)
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
    void reply
      .code(answered.status)
      .headers(answered.headers ?? {})
      .serializer((payload: unknown) => JSON.stringify(payload))
      .header('content-type', JSON_TYPE)
      .send(envelope(answered, request.routeOptions.config?.errorDetails))
  }
}
