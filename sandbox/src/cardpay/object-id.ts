import { randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The prefixes of Stripe's ids, and the number of random characters after them. */
const FORMS = {
  session: ['cs_test_', 58],
  item: ['li_', 24],
  price: ['price_', 24],
  product: ['prod_', 14],
  payment_intent: ['pi_', 24],
  payment_method: ['pm_', 24],
  charge: ['ch_', 24],
  refund: ['re_', 24],
  dispute: ['du_', 24],
  event: ['evt_', 24],
  balance_transaction: ['txn_', 24],
  request: ['req_', 14],
} as const

/** A new id in Stripe's form. */
export function newObjectId(kind: keyof typeof FORMS): string {
  const [prefix, length] = FORMS[kind]
  return prefix + Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
