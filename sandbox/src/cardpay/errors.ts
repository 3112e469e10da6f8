import type { FastifyReply, FastifyRequest } from 'fastify'

import { ApiError } from '../../../server/src/base/errors.ts'
import type { StandInContext } from '../stand-in.ts'

export type ErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error'

/** The fields of an error beside its type and message. */
export type ErrorFields = {
  code?: string
  param?: string
  decline_code?: string
  charge?: string
  payment_intent?: unknown
}

/** An error in Stripe's form, https://docs.stripe.com/api/errors */
export class StripeError extends Error {
  readonly status: number
  readonly type: ErrorType
  readonly fields: ErrorFields
  /** Whether it is replayed under the same idempotency key: the state of an object is the reason, and not a parameter. */
  readonly isStored: boolean

  constructor(
    status: number,
    message: string,
    fields: ErrorFields = {},
    options: { type?: ErrorType; isStored?: boolean } = {},
  ) {
    super(message)
    this.name = 'StripeError'
    this.status = status
    this.type = options.type ?? 'invalid_request_error'
    this.fields = fields
    this.isStored = options.isStored ?? false
  }
}

/** A parameter is wrong. */
export const invalidParameter = (param: string, message: string, code?: string): StripeError =>
  new StripeError(400, message, { ...(code !== undefined && { code }), param })

/** The state of an object does not allow the call. */
export const wrongState = (message: string, code: string, param?: string): StripeError =>
  new StripeError(400, message, { code, ...(param !== undefined && { param }) }, { isStored: true })

/** There is no object with this id. */
export const missing = (kind: string, id: string, param = 'id'): StripeError =>
  new StripeError(404, `No such ${kind}: '${id.slice(0, 100)}'`, { code: 'resource_missing', param })

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'Invalid API Key provided',
  404: 'Unrecognized request URL',
  413: 'The request body is too large.',
  415: 'Send the body as application/x-www-form-urlencoded.',
  429: 'Request rate limit exceeded',
}

/** An error for an HTTP status alone. */
export const statusError = (status: number, message?: string): StripeError =>
  new StripeError(
    status,
    message ?? MESSAGES[status] ?? (status >= 500 ? 'An unknown error occurred' : 'The request failed'),
    status === 429 ? { code: 'rate_limit' } : {},
    { type: status >= 500 ? 'api_error' : 'invalid_request_error' },
  )

/** The body of an error. */
export const errorBody = (
  { type, message, fields }: StripeError,
  log?: { address: string; requestId: string },
): Record<string, unknown> => ({
  error: {
    ...fields,
    message,
    ...(log && { request_log_url: `${log.address}/v1/events?request=${log.requestId}` }),
    type,
  },
})

function stripeErrorOf(error: unknown): StripeError | undefined {
  if (error instanceof StripeError) return error
  if (error instanceof ApiError) return statusError(error.status, error.message)
  const { statusCode, code = '' } = error as { statusCode?: number; code?: string }
  return code.startsWith('FST_') && statusCode !== undefined ? statusError(statusCode) : undefined
}

/** Answers an error as Stripe would. */
export const createAnswerError =
  ({ log }: Pick<StandInContext, 'log'>, { address }: { address: string }) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const stripeError = stripeErrorOf(error)
    if (!stripeError) log.error({ requestId: request.id, err: error }, 'an unexpected error answered 500')
    const answer = stripeError ?? statusError(500)
    if (answer.status === 401) reply.header('www-authenticate', 'Basic realm="Stripe"')
    const requestId = String(reply.getHeader('request-id'))
    void reply.code(answer.status).send(errorBody(answer, { address, requestId }))
  }
