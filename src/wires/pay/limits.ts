// What a user may ask of a provider, which is called with the operator's keys. Service keys are not counted.

/** Checkouts, orders and payment requests together: each is looked up until it is over. */
export const NEW_PAYMENTS = { limit: '60/hour', limitName: 'new payments' } as const

/** Captures and cancellations together. */
export const PAYMENT_CALLS = { limit: '60/min', limitName: 'captures' } as const

/** Refunds by card and wallet together. */
export const REFUNDS = { limit: '60/min', limitName: 'refunds' } as const
