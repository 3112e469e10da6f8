/** Why a card is declined, in Stripe's words: https://docs.stripe.com/declines/codes */
export type Decline = { code: string; declineCode?: string; message: string }

export type DisputeReason = 'fraudulent' | 'product_not_received' | 'general'

/** What a card does; one without fields is charged. */
export type TestCard = {
  /** For people, in a few words. */
  words: string
  decline?: Decline
  needsAuthentication?: true
  /** It is disputed a moment after it was charged. */
  dispute?: { reason: DisputeReason; isInquiry: boolean }
  /** What becomes of its refunds a moment later. */
  refund?: 'fails' | 'pending'
}

const declined = (declineCode: string, message = 'Your card was declined.'): Decline => ({
  code: 'card_declined',
  declineCode,
  message,
})

/** The cards with an effect of their own, by number: https://docs.stripe.com/testing */
export const TEST_CARDS: ReadonlyMap<string, TestCard> = new Map(
  Object.entries<TestCard>({
    4242424242424242: { words: 'is charged' },
    4000000000000002: { words: 'is declined', decline: declined('generic_decline') },
    4000000000009995: {
      words: 'is declined: insufficient funds',
      decline: declined('insufficient_funds', 'Your card has insufficient funds.'),
    },
    4000000000000069: {
      words: 'is declined: expired',
      decline: { code: 'expired_card', message: 'Your card has expired.' },
    },
    4000000000000127: {
      words: 'is declined: wrong security code',
      decline: { code: 'incorrect_cvc', message: "Your card's security code is incorrect." },
    },
    4000002500003155: { words: 'needs authentication', needsAuthentication: true },
    4000002760003184: { words: 'needs authentication each time', needsAuthentication: true },
    4000000000000259: {
      words: 'is charged, then disputed as fraudulent',
      dispute: { reason: 'fraudulent', isInquiry: false },
    },
    4000000000002685: {
      words: 'is charged, then disputed: product not received',
      dispute: { reason: 'product_not_received', isInquiry: false },
    },
    4000000000001976: {
      words: 'is charged, then an inquiry is opened',
      dispute: { reason: 'general', isInquiry: true },
    },
    4000000000005126: { words: 'is charged; its refunds succeed and fail later', refund: 'fails' },
    4000000000007726: { words: 'is charged; its refunds are pending and succeed later', refund: 'pending' },
  }),
)

export const DEFAULT_CARD = '4242424242424242'

const ORDINARY: TestCard = { words: 'is charged' }

export const testCardOf = (number: string): TestCard => TEST_CARDS.get(number) ?? ORDINARY

/** The effect of each test card, in a few words. */
export const CARD_WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  [...TEST_CARDS].map(([number, { words }]) => [number, words]),
)

/** Whether a number can be that of a card: 12 to 19 digits with the check digit of ISO/IEC 7812-1. */
export function isCardNumber(number: string): boolean {
  if (!/^\d{12,19}$/.test(number)) return false
  const sum = Array.from(number)
    .toReversed()
    .reduce((total, character, at) => {
      const digit = Number(character) * (at % 2 === 1 ? 2 : 1)
      return total + (digit > 9 ? digit - 9 : digit)
    }, 0)
  return sum % 10 === 0
}

/** The network of a card, by its first digits. */
export function brandOf(number: string): 'visa' | 'mastercard' | 'amex' | 'discover' | 'unknown' {
  if (number.startsWith('4')) return 'visa'
  if (/^(5[1-5]|2[2-7])/.test(number)) return 'mastercard'
  if (/^3[47]/.test(number)) return 'amex'
  return number.startsWith('6') ? 'discover' : 'unknown'
}
