import { createHmac } from 'node:crypto'

import type { Clock } from '../../../../base/clock.ts'
import { isSameSecret } from '../../../../base/crypto.ts'
import { invalid } from '../../../../base/errors.ts'
import { decodeUtf8, parseJson } from '../../../../base/json.ts'
import { notConfigured } from '../../../../providers/health.ts'
import { receiveErrors, type Receiver } from '../../../../providers/receive.ts'
import type { ProviderEvent } from '../provider.ts'
import { eventOf } from './stripe-events.ts'

const HEADER = 'stripe-signature'
const TOLERANCE_S = 300
/** Stripe's has a signature of each secret and scheme, about 70 characters each. */
const HEADER_MAX = 1_000

/**
 * Verifies and reads Stripe's webhooks: https://docs.stripe.com/webhooks/signature
 *
 * Not by the package: it accepts timestamps in the future, and other bytes that decode to the signed text.
 *
 * @param options.secret of the endpoint; without it each webhook is refused with PROVIDER_NOT_CONFIGURED
 * @param options.isLive the mode of the key
 */
export function stripeReceiver(
  { secret, isLive }: { secret: string | undefined; isLive: boolean },
  clock: Pick<Clock, 'now'>,
): Required<Receiver<ProviderEvent>> {
  const requireSecret = (): string => {
    if (secret !== undefined) return secret
    throw notConfigured({ what: 'webhooks of card payments', variables: 'STRIPE_WEBHOOK_SECRET' })
  }
  return {
    authorize(headers) {
      requireSecret()
      if (!headers[HEADER]) throw receiveErrors.invalid_signature()
    },

    async receive({ headers, bytes }) {
      const signature = headers[HEADER]
      if (!isSigned(requireSecret(), bytes, signature, clock.now())) throw receiveErrors.invalid_signature()
      const payload = readJson(bytes)
      const event = eventOf(payload, isLive)
      if (!event) throw invalid({ path: '/body', message: 'This is not an event of Stripe.' })
      return [{ ...event, payload }]
    },
  }
}

/**
 * Whether Stripe signed these bytes: HMAC-SHA256 of time and bytes, in hexadecimal. There are several signatures while the
 * secret is being replaced.
 *
 * @param now milliseconds since 1970
 */
export function isSigned(secret: string, bytes: Uint8Array, header: unknown, now: number): boolean {
  if (secret === '' || typeof header !== 'string' || header.length > HEADER_MAX) return false
  const items = header.split(',').map((item) => item.trim())
  const times = items.filter((item) => item.startsWith('t='))
  const time = /^t=(\d{1,12})$/.exec(times[0] ?? '')?.[1]
  if (times.length !== 1 || time === undefined) return false
  if (Math.abs(Math.floor(now / 1000) - Number(time)) > TOLERANCE_S) return false
  const expected = `v1=${createHmac('sha256', secret).update(`${time}.`).update(bytes).digest('hex')}`
  return items.some((item) => item.startsWith('v1=') && isSameSecret(item, expected))
}

function readJson(bytes: Buffer): unknown {
  try {
    return parseJson(decodeUtf8(bytes))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw invalid({ path: '/body', message: 'This is not JSON.' })
  }
}
