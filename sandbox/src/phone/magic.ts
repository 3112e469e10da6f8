/** A refusal by Twilio, with its code and message. */
export type Refusal = {
  code: number
  /** Default 400. */
  status?: number
  message: (pair: { to: string; from: string }) => string
}

/** The number that the stand-in sends from: the only one of Twilio's test numbers that works. */
export const OWN_NUMBER = '+15005550006'

/** The number of Twilio's own sandbox for WhatsApp. */
export const OWN_WHATSAPP_NUMBER = '+14155238886'

type RefusedReceiver = Refusal & { words: string }

/**
 * Receivers to whom nothing can be sent; `words` describe them for people.
 *
 * @see https://www.twilio.com/docs/iam/test-credentials
 */
export const REFUSED_RECEIVERS = new Map(
  Object.entries<RefusedReceiver>({
    '+15005550001': {
      words: 'not a valid number',
      code: 21211,
      message: ({ to }) => `Invalid 'To' Phone Number: ${to}`,
    },
    '+15005550002': {
      words: 'not reachable from here',
      code: 21612,
      message: ({ to, from }) =>
        `The 'To' phone number: ${to}, is not currently reachable using the 'From' phone number: ${from} via SMS.`,
    },
    '+15005550003': {
      words: 'a region that is not enabled',
      code: 21408,
      message: ({ to }) =>
        `Permission to send an SMS has not been enabled for the region indicated by the 'To' number: ${to}.`,
    },
    '+15005550004': {
      words: 'has unsubscribed',
      code: 21610,
      message: () => 'Attempt to send to unsubscribed recipient',
    },
    '+15005550009': {
      words: 'not a mobile',
      code: 21614,
      message: ({ to }) => `'To' number: ${to}, is not a valid mobile number`,
    },
  }),
)

/** Senders that can't send, from the same page. */
export const REFUSED_SENDERS = new Map(
  Object.entries<Refusal>({
    '+15005550001': {
      code: 21212,
      message: ({ from }) =>
        `The 'From' number ${from} is not a valid phone number, shortcode, or alphanumeric sender ID.`,
    },
    '+15005550008': {
      code: 21611,
      status: 429,
      message: () => "This 'From' number has exceeded the maximum number of queued messages",
    },
  }),
)

/** The final status of a message. */
export type MagicOutcome = 'delivered' | 'undelivered' | 'failed'

type UnreachedReceiver = { words: string; outcome: MagicOutcome; errorCode: number; message: string }

/**
 * Receivers who get nothing although the message is accepted. Twilio has no test numbers for that: the numbers are the
 * sandbox's own, the codes are Twilio's.
 *
 * @see https://www.twilio.com/docs/api/errors
 */
export const UNREACHED_RECEIVERS = new Map(
  Object.entries<UnreachedReceiver>({
    '+15005550010': {
      words: 'undelivered: unreachable',
      outcome: 'undelivered',
      errorCode: 30003,
      message: 'Unreachable destination handset',
    },
    '+15005550011': { words: 'failed', outcome: 'failed', errorCode: 30008, message: 'Unknown error' },
  }),
)

/** The effect of each of these receivers, in a few words. */
export const MAGIC_NUMBERS: Readonly<Record<string, string>> = {
  ...wordsOf(REFUSED_RECEIVERS, ({ words, code }) => `refused: ${words} (${code})`),
  ...wordsOf(UNREACHED_RECEIVERS, ({ words, errorCode }) => `accepted, then ${words} (${errorCode})`),
}

function wordsOf<T>(receivers: ReadonlyMap<string, T>, write: (one: T) => string): Record<string, string> {
  return Object.fromEntries([...receivers].map(([number, one]) => [number, write(one)]))
}
