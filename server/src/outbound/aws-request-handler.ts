import { Readable } from 'node:stream'

import type { OutboundMethod } from './exchange.ts'
import type { Outbound } from './outbound.ts'

/** A request as the AWS SDK makes it, signed. */
export type AwsRequest = {
  protocol: string
  hostname: string
  port?: number
  path: string
  query?: Readonly<Record<string, string | string[] | null>>
  method: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

type HandlerOptions = { requestTimeout?: number; abortSignal?: AbortSignal }

/** A call that was not answered. */
export class Unanswered extends Error {
  readonly kind: 'not-sent' | 'unknown'

  constructor(kind: 'not-sent' | 'unknown', reason: string) {
    super(reason)
    this.kind = kind
  }
}

/**
 * Makes the calls of an AWS SDK client by our own HTTP client: its `requestHandler`. The answer's body is limited to the
 * `maxBytes` of that client.
 *
 * @param outboundOf chooses the HTTP client of a request
 */
export const awsRequestHandler = (outboundOf: (request: AwsRequest) => Outbound) => ({
  async handle(request: AwsRequest, options: HandlerOptions = {}) {
    const { method, headers, body } = request
    const reply = await outboundOf(request).call(addressOf(request), {
      method: method as OutboundMethod,
      headers,
      // The SDK's own kind of bytes: Buffer.from(body) would take it for a text, with a warning.
      ...(body !== undefined && {
        body: typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      }),
      ...(options.requestTimeout !== undefined && { limitMs: options.requestTimeout }),
      ...(options.abortSignal && { signal: options.abortSignal }),
    })
    if (reply.kind !== 'answered') throw new Unanswered(reply.kind, reply.reason)
    const entries = Object.entries(reply.headers).map(([name, value]) => [name, String(value)] as const)
    return {
      response: {
        statusCode: reply.status,
        headers: Object.fromEntries(entries),
        body: Readable.from([reply.body], { objectMode: false }),
      },
    }
  },
})

function addressOf({ protocol, hostname, port, path, query = {} }: AwsRequest): string {
  const fields = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value) => `${escapeUri(name)}=${escapeUri(value ?? '')}`),
  )
  const host = `${hostname}${port === undefined ? '' : `:${port}`}`
  return `${protocol}//${host}${path}${fields.length > 0 ? `?${fields.join('&')}` : ''}`
}

/** As the signature has it: all but the unreserved characters of RFC 3986. */
const escapeUri = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
