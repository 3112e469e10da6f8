import { isUtf8 } from 'node:buffer'
import { createHmac } from 'node:crypto'

import Stripe from 'stripe'

import type { WebhookRequest } from '../../../../providers/receive.ts'
import { SECRET } from '../stripe.fixture.ts'

/** A webhook as Stripe signs it, by the official package. */
export function signed(
  content: unknown,
  {
    at = Date.now(),
    secret = SECRET,
    header = (text) => text,
  }: { at?: number; secret?: string; header?: (text: string) => string } = {},
): WebhookRequest {
  const bytes = Buffer.isBuffer(content)
    ? content
    : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  const timestamp = Math.floor(at / 1000)
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload: bytes.toString(),
    secret,
    timestamp,
    // The package signs text only.
    ...(!isUtf8(bytes) && {
      signature: createHmac('sha256', secret).update(`${timestamp}.`).update(bytes).digest('hex'),
    }),
  })
  return {
    headers: { 'stripe-signature': header(signature) },
    bytes,
    contentType: 'application/json',
    url: '/pay/cardpay/webhook',
    publicUrl: 'https://shop.example/pay/cardpay/webhook',
  }
}
