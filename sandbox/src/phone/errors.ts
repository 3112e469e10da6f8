import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../../../server/src/base/logger.ts'
import { ApiError } from '../../../server/src/base/errors.ts'

/** An error in Twilio's form, https://www.twilio.com/docs/usage/twilios-response#exceptions */
export class TwilioError extends Error {
  readonly code: number
  readonly status: number

  constructor(code: number, message: string, status = 400) {
    super(message)
    this.name = 'TwilioError'
    this.code = code
    this.status = status
  }
}

const WORDS: Record<number, string> = {
  401: 'Authenticate',
  404: 'The requested resource was not found',
  429: 'Too Many Requests',
  500: 'An internal server error has occurred',
  503: 'Service is currently unavailable. Please try again later.',
}

/** An error for an HTTP status alone. */
export const statusError = (status: number, message?: string): TwilioError =>
  new TwilioError(
    20_000 + (status === 401 ? 3 : status),
    message ?? WORDS[status] ?? 'The request failed',
    status,
  )

function twilioErrorOf(error: unknown): TwilioError | undefined {
  if (error instanceof TwilioError) return error
  if (error instanceof ApiError) return statusError(error.status, error.message)
  const { statusCode, code = '' } = error as { statusCode?: number; code?: string }
  return code.startsWith('FST_') && statusCode !== undefined ? statusError(statusCode) : undefined
}

/** Answers an error as Twilio would: `{code, message, more_info, status}`. */
export const createAnswerError =
  (log: Logger) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const twilioError = twilioErrorOf(error)
    if (!twilioError) log.error({ requestId: request.id, err: error }, 'an unexpected error answered 500')
    const { code, message, status } = twilioError ?? statusError(500)
    if (status === 401) reply.header('www-authenticate', 'Basic realm="Twilio API"')
    void reply
      .code(status)
      .send({ code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status })
  }
