// What a user may ask of a provider, which is called with the operator's keys. Service keys are not counted.

/** Checkouts, orders and payment requests together: each is rechecked until it is over. */
export const NEW_PAYMENTS = { rate: '60/hour', name: 'new payments' } as const

/** Captures and cancellations together. */
export const PAYMENT_OPERATIONS = { rate: '60/min', name: 'captures' } as const

/** Refunds by card and wallet together. */
export const REFUNDS = { rate: '60/min', name: 'refunds' } as const
