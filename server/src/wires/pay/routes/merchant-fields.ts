import type { Static } from 'typebox'

import { isoTime } from '../../../base/clock.ts'
import { emailKey, parseAddress } from '../../../base/email-address.ts'
import { errors, invalid } from '../../../base/errors.ts'
import { idPattern, timeOfId } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { timeOf } from '../../../base/time-text.ts'
import type { Caller } from '../../../http/access.ts'
import { Line } from './schemas.ts'
import type { MerchantColumns } from '../ledger/merchant-columns.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** As Stripe's: https://docs.stripe.com/api/metadata */
export const Metadata = Type.Record(Type.String(), Type.String({ maxLength: 500 }), {
  maxProperties: 50,
  propertyNames: { minLength: 1, maxLength: 40 },
  description: 'Texts of your own, by names of at most 40 characters; they are not sent to the provider.',
  examples: [{ cart: '7', note: 'gift' }],
})

export const MerchantReference = Line({
  minLength: 1,
  maxLength: 200,
  description: 'A reference of your own, such as the number of an order; several payments may have the same.',
  examples: ['order-1042'],
})

/** What every request that creates a payment takes, beside the money. @param life when it may expire, in words */
export const merchantFields = (life: string) => ({
  merchantReference: Type.Optional(MerchantReference),
  metadata: Type.Optional(Metadata),
  email: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'The buyer’s, which the provider gets.',
      examples: ['buyer@example.com'],
    }),
  ),
  userId: Type.Optional(
    Type.String({
      pattern: idPattern,
      description: 'The user to whom it belongs. Service keys only; default: who calls.',
    }),
  ),
  expiresAt: Type.Optional(
    Type.String({
      format: 'date-time',
      // Without an example: it would be over at some time.
      description: `Until when it can be paid, like 2026-01-31T13:00:00Z: ${life}.`,
    }),
  ),
})

export type MerchantInput = {
  [K in keyof ReturnType<typeof merchantFields>]?: Static<ReturnType<typeof merchantFields>[K]> | undefined
}

/** Between how long after its creation a payment may expire, in milliseconds. */
export type Life = { leastMs: number; mostMs: number; words: string }

/** Stripe's own bounds; of an order at PayPal, how long it can be captured; of a payment request, ours. */
export const LIVES = {
  cardpay: { leastMs: 30 * MINUTE_MS, mostMs: 24 * HOUR_MS, words: 'in 30 minutes to 24 hours' },
  walletpay: { leastMs: MINUTE_MS, mostMs: 72 * HOUR_MS, words: 'in 1 minute to 72 hours' },
  onchain: { leastMs: MINUTE_MS, mostMs: 30 * 24 * HOUR_MS, words: 'in 1 minute to 30 days' },
} as const satisfies Record<string, Life>

/**
 * Reads what a merchant gives with a payment.
 *
 * @param options.id of the payment: a repetition is checked as of the first time
 * @throws VALIDATION_ERROR; FORBIDDEN if a user names another one
 */
export function readMerchant(
  { merchantReference, metadata, email, userId, expiresAt }: MerchantInput,
  { id, caller, life }: { id: string; caller: Caller; life: Life },
): MerchantColumns {
  if (userId !== undefined && userId !== caller.id && caller.kind !== 'key')
    throw errors.forbidden({ message: 'Only a service key may create a payment for another user.' })
  const address = email === undefined ? undefined : parseAddress(email, '/body/email').address
  return {
    owner: userId ?? caller.id,
    merchant_reference: merchantReference ?? null,
    email: address ?? null,
    email_key: address === undefined ? null : emailKey(address),
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    expires_at: expiresAt === undefined ? null : expiryOf(expiresAt, timeOfId(id), life),
  }
}

function expiryOf(text: string, createdAt: number, { leastMs, mostMs, words }: Life): number {
  const time = timeOf(text, '/body/expiresAt')
  if (time < createdAt + leastMs || time > createdAt + mostMs)
    throw invalid({ path: '/body/expiresAt', message: `must be ${words}, and it is ${isoTime(createdAt)}` })
  return time
}
