import { maxHeaderSize } from 'node:http'

import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'

import { ApiError, errors, invalid, type Issue } from '../base/errors.ts'
import type { ErrorDetails } from './route.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const BODY_LIMIT = 1_048_576

/**
 * The body of every failure.
 *
 * @param always what the route says in the details of each error; the error's own win
 */
export function envelope({ code, message, details: own }: ApiError, always?: ErrorDetails) {
  const details = always || own ? { ...always, ...own } : undefined
  return { error: { code, message, ...(details && { details }) } }
}

declare module 'fastify' {
  // What a route hands to the engine, to be found with its requests.
  interface FastifyContextConfig {
    errorDetails?: ErrorDetails
  }
}

// Faults of Node's HTTP parser, of which it names the place.
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

function apiErrorOf(error: unknown, request: FastifyRequest): ApiError | undefined {
  if (error instanceof ApiError) return error
  const {
    statusCode,
    message = '',
    code = '',
  } = error as { statusCode?: number; message?: string; code?: string }
  if (statusCode === undefined || !code.startsWith('FST_')) return undefined
  const known = BY_CODE[code] ?? BY_STATUS[statusCode]
  if (known) return known(request)
  return statusCode < 500
    ? errors.validation_error({ message: `The request can't be read: ${message}` })
    : undefined
}

/** A bug in one line: what was thrown, and the first place outside of packages and of Node. */
function bugOf(error: unknown): string {
  if (!(error instanceof Error)) return `This was thrown, which is no error: ${String(error)}`
  const at = /^ +at (?!.*(?:node:|node_modules)).*?\(?((?:file:|\/|[A-Z]:).*:\d+:\d+)\)?$/m.exec(
    error.stack ?? '',
  )
  return `${error.name}: ${error.message}${at ? ` (at ${at[1]})` : ''}`
}

/** What answers an error, wherever it was thrown. */
export type AnswerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** @param options.production whether the caller is told nothing of a bug but the request id to look for in the log */
export function createAnswerError({
  log,
  production,
}: {
  log: FastifyBaseLogger
  production: boolean
}): AnswerError {
  return (error, request, reply) => {
    const known = apiErrorOf(error, request)
    const requestId = request.id
    // Whatever is not from an error table is a bug: the log has all of it.
    if (known === undefined) log.error({ requestId, err: error }, 'a bug answered 500')
    else if (known.status >= 500) log.warn({ requestId, err: known }, known.message)
    const answered =
      known ??
      errors.internal_error({
        details: { requestId },
        ...(!production && { message: `${bugOf(error)}. The log has the stack under this request id.` }),
      })
    if (!reply.hasHeader('x-request-id')) reply.header('x-request-id', requestId)
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
