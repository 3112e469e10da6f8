import { randomUUID, sign, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'

import { isoTime } from '../../../server/src/base/clock.ts'
import type { WebhookSigningKey } from './signing-key.ts'

export const ALGORITHM = 'SHA256withRSA'

/** https://developer.paypal.com/api/rest/webhooks/rest/#link-verifywebhooksignature */
const signedText = (id: string, time: string, webhookId: string, body: string): string =>
  `${id}|${time}|${webhookId}|${crc32(body)}`

/** The headers of a webhook, signed for the webhook with this id. */
export function signWebhook(
  { privateKey, certId }: WebhookSigningKey,
  options: { address: string; webhookId: string; body: string; now: number },
): Record<string, string> {
  const { address, webhookId, body, now } = options
  const id = randomUUID()
  const time = isoTime(now).replace(/\.\d+Z$/, 'Z')
  const signature = sign('sha256', Buffer.from(signedText(id, time, webhookId, body)), privateKey)
  return {
    'content-type': 'application/json',
    'user-agent': 'PayPal/AUHD-214.0-58843222',
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': signature.toString('base64'),
    'paypal-cert-url': `${address}/v1/notifications/certs/${certId}`,
    'paypal-auth-algo': ALGORITHM,
  }
}

/** Whether a body with these headers was signed with the key for the webhook with this id. */
export function isSigned(
  { publicKey, certId }: WebhookSigningKey,
  options: {
    address: string
    webhookId: string
    body: string
    id: string
    time: string
    signature: string
    certUrl: string
    algorithm: string
  },
): boolean {
  const { address, webhookId, body, id, time, signature, certUrl, algorithm } = options
  return (
    algorithm === ALGORITHM &&
    certUrl === `${address}/v1/notifications/certs/${certId}` &&
    verify(
      'sha256',
      Buffer.from(signedText(id, time, webhookId, body)),
      publicKey,
      Buffer.from(signature, 'base64'),
    )
  )
}
