import { randomBytes } from 'node:crypto'

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../../../server/src/base/logger.ts'
import { ApiError } from '../../../server/src/base/errors.ts'

const DEBUG_HEADER = 'paypal-debug-id'

/** One fault of a request, by PayPal's code; the description is the sandbox's own. */
export type PaypalIssue = {
  issue: string
  description: string
  field?: string
  value?: string
  location?: string
}

export type Link = { href: string; rel: string; method?: string }

const NAMES: Readonly<Record<number, readonly [name: string, message: string]>> = {
  400: ['INVALID_REQUEST', 'The request has errors: see the details.'],
  401: ['AUTHENTICATION_FAILURE', 'The access token is missing, wrong or expired.'],
  403: ['NOT_AUTHORIZED', 'The account may not do this.'],
  404: ['RESOURCE_NOT_FOUND', 'There is no such resource.'],
  409: ['RESOURCE_CONFLICT', 'The resource is being changed by another request.'],
  413: ['INVALID_REQUEST', 'The request is too large.'],
  415: ['UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'],
  422: ['UNPROCESSABLE_ENTITY', 'The request cannot be carried out: see the details.'],
  429: ['RATE_LIMIT_REACHED', 'There were too many requests.'],
  500: ['INTERNAL_SERVER_ERROR', 'An internal error occurred.'],
  503: ['SERVICE_UNAVAILABLE', 'The service is not available now.'],
}

/** An error in PayPal's form, https://developer.paypal.com/api/rest/responses/ */
export class PayPalError extends Error {
  readonly status: number
  readonly issues: readonly PaypalIssue[]
  readonly links: readonly Link[]

  constructor(status: number, issues: readonly PaypalIssue[] = [], links: readonly Link[] = []) {
    super((NAMES[status] ?? NAMES[status < 500 ? 400 : 500]!)[1])
    this.name = 'PayPalError'
    this.status = status
    this.issues = issues
    this.links = links
  }

  get code(): string {
    return (NAMES[this.status] ?? NAMES[this.status < 500 ? 400 : 500]!)[0]
  }
}

/** A request that is well-formed and cannot be carried out. */
export const unprocessable = (
  issue: string,
  description: string,
  more: { field?: string; links?: readonly Link[] } = {},
): PayPalError =>
  new PayPalError(
    422,
    [{ issue, description, ...(more.field !== undefined && { field: more.field }) }],
    more.links,
  )

export const notFound = (): PayPalError =>
  new PayPalError(404, [
    { issue: 'INVALID_RESOURCE_ID', description: 'No resource has this id, or it is no longer kept.' },
  ])

export const malformed = (issue: string, description: string, field?: string): PayPalError =>
  new PayPalError(400, [
    {
      issue,
      description,
      ...(field !== undefined && { field, location: field.startsWith('/') ? 'body' : 'query' }),
    },
  ])

function payPalErrorOf(error: unknown): PayPalError | undefined {
  if (error instanceof PayPalError) return error
  if (error instanceof ApiError)
    return error.status === 400
      ? malformed('INVALID_PARAMETER_SYNTAX', error.message)
      : new PayPalError(error.status)
  const { statusCode, code = '' } = error as { statusCode?: number; code?: string }
  return code.startsWith('FST_') && statusCode !== undefined ? new PayPalError(statusCode) : undefined
}

/** Answers errors as PayPal does, and names each answer by a debug id. */
export function answerAsPayPal(engine: FastifyInstance, log: Logger): void {
  engine.addHook('onRequest', async (_request, reply) => {
    reply.header(DEBUG_HEADER, randomBytes(7).toString('hex').slice(0, 13))
  })
  engine.setErrorHandler((error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const payPalError = payPalErrorOf(error)
    if (!payPalError) log.error({ requestId: request.id, err: error }, 'an unexpected error answered 500')
    const { status, code, message, issues, links } = payPalError ?? new PayPalError(500)
    void reply.code(status).send({
      name: code,
      message,
      debug_id: reply.getHeader(DEBUG_HEADER),
      ...(issues.length > 0 && { details: issues }),
      links: [
        ...links,
        { href: `https://developer.paypal.com/api/rest/responses/#${code}`, rel: 'information_link' },
      ],
    })
  })
  engine.setNotFoundHandler(() => {
    throw new PayPalError(404)
  })
}
