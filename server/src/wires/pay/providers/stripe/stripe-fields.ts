// Reads fields of Stripe's objects: undefined if a value is not as expected. Nothing here throws.

/** An object of JSON whose fields are not checked yet. */
export type StripeFields = Readonly<Record<string, unknown>>

const ID = /^[\w-]{1,255}$/
const CURRENCY = /^[a-z]{3}$/i

/** The fields of an object; none of anything else. */
export const fieldsOf = (value: unknown): StripeFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as StripeFields) : {}

/** A text that is not empty. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The id of an object, which Stripe shows as the id or as the object (https://docs.stripe.com/api/expanding_objects). */
export function idOf(value: unknown): string | undefined {
  const id = typeof value === 'string' ? value : fieldsOf(value)['id']
  return typeof id === 'string' && ID.test(id) ? id : undefined
}

/** An amount in minor units. */
export const amountOf = (value: unknown): bigint | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined

/** A currency, in upper case. */
export const currencyOf = (value: unknown): string | undefined =>
  typeof value === 'string' && CURRENCY.test(value) ? value.toUpperCase() : undefined

/** Milliseconds since 1970, of Stripe's seconds. */
export const momentOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < 1e11
    ? value * 1000
    : undefined

/** An id of ours that was sent as metadata. */
export const metadataOf = (object: StripeFields, name: 'transaction_id' | 'refund_id'): string | undefined =>
  idOf(fieldsOf(object['metadata'])[name])
