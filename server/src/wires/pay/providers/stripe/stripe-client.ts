import type Stripe from 'stripe'

import { createOutbound } from '../../../../outbound/outbound.ts'
import type { NotAccepted } from '../../../../providers/outcome.ts'
import { PendingPromises } from '../../../../base/pending-promises.ts'
import type { Outcome } from '../provider.ts'
import { fieldsOf, type StripeFields } from './stripe-fields.ts'
import { NoSuccess, stripeOutcome, withoutKeys, type RefusalReader } from './stripe-outcome.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

const PAGE_SIZE = 100
const TIMEOUT_MAX_MS = 600_000
/** A page has 100 events, each with its object. */
const MAX_BYTES = 16 * 1_048_576
/** What each call of the package is given: the time that is left for it. */
export type StripeCallOptions = { timeout: number; maxNetworkRetries: 0 }

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
    work: (stripe: Stripe, options: () => StripeCallOptions) => Promise<T | undefined>,
  ): Promise<Outcome<T>>
  /** Resolves when no call is in progress. */
  idle(): Promise<void>
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
  { clock }: Pick<WireContext, 'clock'>,
  { secretKey, base }: { secretKey: string; base: string },
): StripeClient {
  const outbound = createOutbound({ name: 'Stripe', base, maxBytes: MAX_BYTES, clock })
  let loading: Promise<Stripe> | undefined
  // Loaded with the first call: the package takes a tenth of the time of a start.
  const load = () =>
    (loading ??= import('./stripe-package.ts').then(({ createStripe }) =>
      createStripe({ outbound }, { secretKey }),
    ))
  const calls = new PendingPromises()

  async function run<T extends object>(
    { limitMs, expects, refusal = () => undefined, isRead = false }: Call,
    work: (stripe: Stripe, options: () => StripeCallOptions) => Promise<T | undefined>,
  ): Promise<Outcome<T>> {
    const deadline = clock.elapsed() + limitMs
    const options = (): StripeCallOptions => {
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
      const value = await work(await load(), options)
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

  return { run: (call, work) => calls.add(run(call, work)), idle: () => calls.idle() }
}

/**
 * Reads the pages of a list, the newest objects first (https://docs.stripe.com/api/pagination).
 *
 * @param read calls the list with `page`
 */
export async function* pages(
  read: (page: { limit: number; starting_after?: string }) => Promise<unknown>,
): AsyncGenerator<{ objects: readonly StripeFields[]; isLast: boolean }> {
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
export async function all(read: Parameters<typeof pages>[0]): Promise<StripeFields[]> {
  const objects: StripeFields[] = []
  for await (const page of pages(read)) objects.push(...page.objects)
  return objects
}
