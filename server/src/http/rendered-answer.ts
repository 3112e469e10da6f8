import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

import { joinHeaders } from './answer-head.ts'
import { JSON_TYPE } from './failures.ts'
import type { StoredAnswer } from './idempotency.ts'
import type { Exchange } from './received-call.ts'
import { Answer, answer, JsonText } from './route.ts'

/** An answer as it is sent: JSON text, or what the handler answers in another form. */
export type RenderedAnswer = StoredAnswer | Answer<unknown>

/** Serializes a result of the handler, unless it is in the form in which it is sent. */
export function render({ route, reply }: Exchange, result: unknown): RenderedAnswer {
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
export const sizeOf = ({ body }: RenderedAnswer): number =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.length : 0

/**
 * Sends an answer that is JSON text. The engine would take 2 µs more for it; any other answer is left to the engine.
 *
 * @returns the body that the engine sends; undefined if the answer is sent
 */
export function send({ request, reply }: Exchange, response: RenderedAnswer): unknown {
  const { status = 200, headers, body } = response
  if (response instanceof Answer || !response.body) {
    reply.code(status).headers(headers)
    if (!(response instanceof Answer)) reply.header('content-type', JSON_TYPE)
    return body
  }
  const head: OutgoingHttpHeaders = joinHeaders(request.flight.headers, headers)
  head['content-type'] = JSON_TYPE
  head['content-length'] = Buffer.byteLength(response.body)
  reply.raw.writeHead(status, head)
  reply.hijack()
  reply.raw.end(response.body.length > LONG_TEXT ? Buffer.from(response.body) : response.body)
  return undefined
}

// A text is copied once more behind its headers, and takes three bytes for each character until a slow client has it.
const LONG_TEXT = 262_144
