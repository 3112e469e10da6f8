import { randomInt } from 'node:crypto'

const LETTERS = '0123456789ABCDEFGHJKLMNPQRSTUVWXYZ'

const random = (length: number, alphabet = LETTERS): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')

/** An id of an order, a capture or a refund, in PayPal's form. */
export const newObjectId = (): string => random(17)

export const newDisputeId = (): string => `PP-D-${random(9, '123456789')}`

export const newEventId = (): string => `WH-${random(17)}-${random(17)}`
