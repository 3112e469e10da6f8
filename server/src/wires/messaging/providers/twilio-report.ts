import { invalid } from '../../../base/errors.ts'
import { decodeUtf8 } from '../../../base/json.ts'
import { receiveErrors, type Receiver } from '../../../providers/receive.ts'
import type { TextReport } from './provider.ts'
import { isSigned } from './twilio-signature.ts'

/** https://www.twilio.com/docs/messaging/api/message-resource#message-status-values; others say nothing new. */
const STATUS: Readonly<Record<string, TextReport['status']>> = {
  accepted: 'sent',
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  failed: 'failed',
  canceled: 'failed',
}

/**
 * Reads Twilio's delivery reports: https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
 *
 * The signature covers the URL and the fields of the form, whatever their encoding.
 */
export const twilioReceiver = (authToken: string): Receiver<TextReport> => ({
  authorize(headers) {
    if (!headers['x-twilio-signature']) throw receiveErrors.invalid_signature()
  },

  async receive({ publicUrl, headers, bytes }) {
    const fields = formOf(bytes)
    const signature = headers['x-twilio-signature']
    if (typeof signature !== 'string' || !isSigned(authToken, publicUrl, fields, signature))
      throw receiveErrors.invalid_signature()
    const id = new URL(publicUrl).searchParams.get('id')
    const { MessageSid: messageId, MessageStatus: word = '', ErrorCode: code } = fields
    const status = Object.hasOwn(STATUS, word) ? STATUS[word] : undefined
    if (id === null || messageId === undefined || status === undefined) return []
    if (status !== 'failed') return [{ id, messageId, status }]
    const error = code === undefined ? `The provider reported: ${word}.` : `Twilio ${code}: ${word}`
    return [{ id, messageId, status, error }]
  },
})

/** The fields of a form, each there once: which of two was signed nobody could tell. */
function formOf(bytes: Buffer): Record<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(decodeUtf8(bytes))) {
    if (fields.has(name)) throw invalid({ path: '/body', message: 'holds a field twice' })
    fields.set(name, value)
  }
  return Object.fromEntries(fields)
}
