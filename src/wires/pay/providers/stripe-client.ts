import Stripe from 'stripe'

import type { Clock } from '../../../base/clock.ts'
import { createOutbound, jsonOf, type Outbound, type Reply } from '../../../outbound/outbound.ts'
import type { NotAccepted } from '../../../providers/outcome.ts'
import { trackCalls } from '../../../providers/under-way.ts'
import type { Outcome } from '../provider.ts'
import { fieldsOf, type Fields } from './stripe-fields.ts'
import { stripeOutcome, withoutKeys, type RefusalReader } from './stripe-outcome.ts'

/** The version of the API whose types the package has. Pinned: an update of the package shows here as an error of types. */
const API_VERSION = '2026-10-28.endive'
const PAGE_SIZE = 100
const TIMEOUT_MAX_MS = 600_000
/** A page has 100 events, each with its object. */
const MAX_BYTES = 16 * 1_048_576
/** What Stripe needs to know; the package would also describe this machine. */
const HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'idempotency-key',
  'stripe-version',
  'user-agent',
])

/** What each call of the package is given: the time that is left for it. */
export type CallOptions = { timeout: number; maxNetworkRetries: 0 }

type Call = { limitMs: number; expects: string; refusal?: RefusalReader; isRead?: boolean }

/** Calls of Stripe's API by the official package, over our own HTTP client. */
export type StripeClient = {
  /**
   * Makes calls within a limit of time: of all of them together.
   *
   * @param call.expects what the last answer contains, for reasons: `a session`
   * @param call.refusal what a refusal is about
   * @param call.isRead whether it only reads: a refusal without a code then leaves the outcome unknown
   * @param work undefined if an answer is not as expected: the outcome is then unknown
   */
  run<T extends object>(
    call: Call,
    work: (stripe: Stripe, options: () => CallOptions) => Promise<T | undefined>,
  ): Promise<Outcome<T>>
  /** Resolves when no call is in progress. */
  ended(): Promise<void>
}

/** Ends the calls of `run` with an outcome. */
export class Ended extends Error {
  readonly outcome: NotAccepted

  constructor(outcome: NotAccepted) {
    super(outcome.reason)
    this.outcome = outcome
  }
}

/**
 * Creates a client of Stripe's API.
 *
 * @throws StartError if the base is not an http or https URL, or has credentials
 */
export function createStripeClient(
  { secretKey, base }: { secretKey: string; base: string },
  clock: Clock,
): StripeClient {
  const outbound = createOutbound({ name: 'Stripe', base, maxBytes: MAX_BYTES, clock })
  const stripe = new Stripe(secretKey, {
    apiVersion: API_VERSION,
    httpClient: new OutboundClient(outbound),
    maxNetworkRetries: 0,
    telemetry: false,
    appInfo: { name: 'sixwire' },
  })
  const calls = trackCalls()

  async function run<T extends object>(
    { limitMs, expects, refusal = () => undefined, isRead = false }: Call,
    work: (stripe: Stripe, options: () => CallOptions) => Promise<T | undefined>,
  ): Promise<Outcome<T>> {
    const deadline = clock.elapsed() + limitMs
    const options = (): CallOptions => {
      // The package replaces anything but a positive integer by its own default, 80 seconds.
      const timeout = Math.min(Math.floor(deadline - clock.elapsed()), TIMEOUT_MAX_MS)
      if (timeout > 0) return { timeout, maxNetworkRetries: 0 }
      const seconds = Math.round(limitMs / 100) / 10
      throw new Ended({
        kind: 'unknown',
        reason: `Stripe has not answered all that was asked within ${seconds} seconds`,
      })
    }
    try {
      const value = await work(stripe, options)
      if (value) return { kind: 'accepted', ...value }
      return { kind: 'unknown', reason: `Stripe answered without ${expects}` }
    } catch (error) {
      if (error instanceof Ended) return error.outcome
      const { detail } = fieldsOf(error)
      if (detail instanceof NoSuccess) {
        const outcome = stripeOutcome(detail.reply, { expects, refusal, secretKey })
        const isWithoutCode = isRead && outcome.kind === 'refused' && outcome.code === undefined
        return isWithoutCode ? { kind: 'unknown', reason: outcome.reason } : outcome
      }
      return { kind: 'unknown', reason: withoutKeys(String(error), secretKey) }
    }
  }

  return { run: (call, work) => calls.track(run(call, work)), ended: () => calls.ended() }
}

/**
 * Reads the pages of a list, the newest objects first (https://docs.stripe.com/api/pagination).
 *
 * @param read calls the list with `page`
 */
export async function* pages(
  read: (page: { limit: number; starting_after?: string }) => Promise<unknown>,
): AsyncGenerator<{ objects: readonly Fields[]; isLast: boolean }> {
  for (let last: string | undefined; ;) {
    const { data, has_more: hasMore } = fieldsOf(
      await read({ limit: PAGE_SIZE, ...(last !== undefined && { starting_after: last }) }),
    )
    if (!Array.isArray(data)) throw new Ended({ kind: 'unknown', reason: 'Stripe answered without a list' })
    const objects = data.map(fieldsOf)
    yield { objects, isLast: hasMore !== true }
    if (hasMore !== true) return
    const { id } = objects.at(-1) ?? {}
    if (typeof id !== 'string' || id === last)
      throw new Ended({ kind: 'unknown', reason: 'Stripe answered a list that does not end' })
    last = id
  }
}

/** All objects of a list. */
export async function all(read: Parameters<typeof pages>[0]): Promise<Fields[]> {
  const objects: Fields[] = []
  for await (const page of pages(read)) objects.push(...page.objects)
  return objects
}

/** A reply other than a success with a JSON object: what it means is not left to the package. */
class NoSuccess extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super('Stripe did not answer with a success')
    this.reply = reply
  }
}

/** The package's calls over `src/outbound`. The package repeats no call that ends with `NoSuccess`. */
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
