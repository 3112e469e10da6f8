/** How Twilio refuses, and what it says. */
export type Refused = { code: number; status?: number; message: string }

type Pair = { to: string; from: string }

/** The number that the stand-in sends from: of Twilio's test numbers the one that works. */
export const OWN_NUMBER = '+15005550006'

/** The number of Twilio's own sandbox for WhatsApp. */
export const OWN_WHATSAPP_NUMBER = '+14155238886'

/**
 * Receivers to whom nothing can be sent.
 *
 * @see https://www.twilio.com/docs/iam/test-credentials
 */
export const REFUSED_RECEIVERS: Record<string, (pair: Pair) => Refused> = {
  '+15005550001': ({ to }) => ({ code: 21211, message: `Invalid 'To' Phone Number: ${to}` }),
  '+15005550002': ({ to, from }) => ({
    code: 21612,
    message: `The 'To' phone number: ${to}, is not currently reachable using the 'From' phone number: ${from} via SMS.`,
  }),
  '+15005550003': ({ to }) => ({
    code: 21408,
    message: `Permission to send an SMS has not been enabled for the region indicated by the 'To' number: ${to}.`,
  }),
  '+15005550004': () => ({ code: 21610, message: 'Attempt to send to unsubscribed recipient' }),
  '+15005550009': ({ to }) => ({ code: 21614, message: `'To' number: ${to}, is not a valid mobile number` }),
}

/** Senders that can't send, from the same page. */
export const REFUSED_SENDERS: Record<string, (pair: Pair) => Refused> = {
  '+15005550001': ({ from }) => ({
    code: 21212,
    message: `The 'From' number ${from} is not a valid phone number, shortcode, or alphanumeric sender ID.`,
  }),
  '+15005550008': () => ({
    code: 21611,
    status: 429,
    message: "This 'From' number has exceeded the maximum number of queued messages",
  }),
}

/** How a message ends. */
export type Outcome = 'delivered' | 'undelivered' | 'failed'

/**
 * Receivers who get nothing although the message was accepted. Twilio has no test numbers for that: these are ours,
 * the codes are Twilio's.
 *
 * @see https://www.twilio.com/docs/api/errors
 */
export const UNREACHED_RECEIVERS: Record<string, { outcome: Outcome; errorCode: number; message: string }> = {
  '+15005550010': { outcome: 'undelivered', errorCode: 30003, message: 'Unreachable destination handset' },
  '+15005550011': { outcome: 'failed', errorCode: 30008, message: 'Unknown error' },
}

/** What each of these numbers does, in a few words. */
export const MAGIC_NUMBERS = {
  '+15005550001': 'refused: not a valid number (21211)',
  '+15005550002': 'refused: not reachable from here (21612)',
  '+15005550003': 'refused: a region that is not enabled (21408)',
  '+15005550004': 'refused: has unsubscribed (21610)',
  '+15005550009': 'refused: not a mobile (21614)',
  '+15005550010': 'accepted, then undelivered: unreachable (30003)',
  '+15005550011': 'accepted, then failed (30008)',
} as const
