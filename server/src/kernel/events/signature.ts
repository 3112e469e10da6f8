import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/
const BYTES = { min: 24, max: 64 }

/**
 * The key of a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`; undefined if it is none: base64 of 24 to 64 bytes.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme
 */
export function signingKeyOf(secret: string): Buffer | undefined {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined
  if (encoded === undefined || !BASE64.test(encoded)) return undefined
  const key = Buffer.from(encoded, 'base64')
  return key.length >= BYTES.min && key.length <= BYTES.max ? key : undefined
}

/** A message as it is signed. */
export type SignedMessage = {
  /** Without a full stop, which separates the signed parts. */
  id: string
  /** Seconds since 1970: when it is sent. */
  timestamp: number
  body: string
}

/**
 * The headers of Standard Webhooks, with a signature for each key: while a secret is rotated, a receiver knows one of them.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#webhook-headers-sending-metadata-to-consumers
 */
export const signatureHeaders = (
  message: SignedMessage,
  keys: readonly Buffer[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestamp),
  'webhook-signature': keys.map((key) => `v1,${signatureOf(message, key)}`).join(' '),
})

export const signatureOf = ({ id, timestamp, body }: SignedMessage, key: Buffer): string =>
  createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
