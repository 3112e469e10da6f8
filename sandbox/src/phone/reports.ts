import { createHmac, randomUUID } from 'node:crypto'

import type { Callback, CallbackRequest } from '../callbacks.ts'
import { OUTCOME_MS, SENT_MS, type PhoneChannel, type PhoneMessage } from './messages.ts'

/** The version of Twilio's API, in its addresses and callbacks. */
export const API_VERSION = '2010-04-01'

export type TwilioAccount = { sid: string; token: string }

/** The parameters of a report, and the token that all its attempts have in common. */
export type TwilioReport = { params: Record<string, string>; token: string }

/** A number with its channel, in Twilio's form. */
export const channelAddress = (channel: PhoneChannel, number: string): string =>
  channel === 'whatsapp' ? `whatsapp:${number}` : number

/**
 * The signature of a callback: HMAC-SHA1 under the account's token over the address and, sorted by name, every
 * parameter with its value, in base64.
 *
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 */
const signatureOf = (token: string, url: string, params: Readonly<Record<string, string>>): string =>
  createHmac('sha1', token)
    .update(
      url +
        Object.keys(params)
          .toSorted()
          .map((name) => name + params[name])
          .join(''),
    )
    .digest('base64')

/** The request of a status callback, signed with the account's token. */
export const signReport = (
  { token }: TwilioAccount,
  { url, message: { params, token: idempotencyToken } }: { url: string; message: TwilioReport },
): CallbackRequest => ({
  headers: {
    'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
    'user-agent': 'TwilioProxy/1.1',
    'x-twilio-signature': signatureOf(token, url, params),
    'i-twilio-idempotency-token': idempotencyToken,
  },
  body: new URLSearchParams(params).toString(),
})

/**
 * The status callbacks of a message, as Twilio makes them: when it is queued, when it is sent, and with its outcome.
 *
 * @see https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
 */
export function reportsOf(
  account: TwilioAccount,
  message: PhoneMessage,
  url: string,
): Callback<TwilioReport>[] {
  const { id, sid, channel, to, from, outcome, errorCode, createdAt } = message
  const report = (status: string, afterMs: number, error: number | null = null): Callback<TwilioReport> => {
    const params = {
      AccountSid: account.sid,
      ApiVersion: API_VERSION,
      From: channelAddress(channel, from),
      MessageSid: sid,
      MessageStatus: status,
      SmsSid: sid,
      SmsStatus: status,
      To: channelAddress(channel, to),
      ...(channel === 'whatsapp' && { ChannelPrefix: 'whatsapp' }),
      ...(error !== null && { ErrorCode: String(error) }),
    }
    return { subject: id, url, message: { params, token: randomUUID() }, dueAt: createdAt + afterMs }
  }
  return [
    report('queued', 0),
    ...(outcome === 'failed' ? [] : [report('sent', SENT_MS)]),
    report(outcome, OUTCOME_MS, errorCode),
  ]
}
