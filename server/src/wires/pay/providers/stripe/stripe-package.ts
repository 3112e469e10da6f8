import Stripe from 'stripe'

import { jsonOf, type Outbound } from '../../../../outbound/outbound.ts'
import { NoSuccess } from './stripe-outcome.ts'

/** The version of the API whose types the package has. Pinned: an update of the package shows here as an error of types. */
const API_VERSION = '2026-10-28.endive'
/** What Stripe needs to know; the package would also describe this machine. */
const HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'idempotency-key',
  'stripe-version',
  'user-agent',
])

/** The official package, over our own HTTP client. */
export const createStripe = (
  { outbound }: { outbound: Outbound },
  { secretKey }: { secretKey: string },
): Stripe =>
  new Stripe(secretKey, {
    apiVersion: API_VERSION,
    httpClient: new OutboundClient(outbound),
    maxNetworkRetries: 0,
    telemetry: false,
    appInfo: { name: 'sixwire' },
  })

/** The package's calls over `server/src/outbound`. The package repeats no call that ends with `NoSuccess`. */
class OutboundClient extends Stripe.HttpClient {
  readonly #outbound: Outbound

  constructor(outbound: Outbound) {
    super()
    this.#outbound = outbound
  }

  override getClientName(): string {
    return 'sixwire'
  }

  override async makeRequest(
    _host: string,
    _port: string,
    path: string,
    method: string,
    headers: Readonly<Record<string, unknown>>,
    body: string,
    _protocol: string,
    limitMs: number,
  ): Promise<OutboundResponse> {
    const reply = await this.#outbound.call(path, {
      method: method as 'GET' | 'POST',
      headers: Object.fromEntries(
        Object.entries(headers)
          .filter(([name]) => HEADERS.has(name.toLowerCase()))
          .map(([name, value]) => [name, String(value)]),
      ),
      ...(method !== 'GET' && { body }),
      limitMs,
    })
    const isSuccess = reply.kind === 'answered' && reply.status >= 200 && reply.status < 300
    const json = isSuccess ? jsonOf(reply) : undefined
    if (!isSuccess || typeof json !== 'object' || json === null || Array.isArray(json) || 'error' in json)
      throw new NoSuccess(reply)
    return new OutboundResponse(reply.status, json)
  }
}

class OutboundResponse extends Stripe.HttpClientResponse {
  readonly #json: object

  constructor(status: number, json: object) {
    super(status, {})
    this.#json = json
  }

  override getRawResponse(): unknown {
    return {}
  }

  override toJSON(): Promise<object> {
    return Promise.resolve(this.#json)
  }
}
