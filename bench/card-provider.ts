import type { Bench } from './bench.ts'
import { askFor } from './client.ts'

/** A card provider in a process of its own: the sandbox of another server. */
export type CardProvider = {
  address: string
  secretKey: string
  /** What a server needs to use it. */
  environment: Record<string, string>
  stop(): Promise<void>
}

/** The secret of webhooks, which the bench signs itself. */
export const WEBHOOK_SECRET = 'whsec_only_for_measuring_0123456789'

/** @param name of its database */
export async function startCardProvider(bench: Bench, name: string): Promise<CardProvider> {
  const server = await bench.open('sixwire', name, {
    policy: 'open',
    environment: { NODE_ENV: 'development', LOG_LEVEL: 'warn' },
  })
  type Providers = { cardpay: { address: string; secretKey: string } }
  const { cardpay } = await askFor<Providers>(server.base, 'GET /sandbox/api')
  return {
    ...cardpay,
    environment: {
      STRIPE_API_BASE: cardpay.address,
      STRIPE_SECRET_KEY: cardpay.secretKey,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    },
    stop: () => server.stop(),
  }
}

/** The body of POST /pay/cardpay/checkout. */
export const CHECKOUT = JSON.stringify({
  items: [{ name: 'Momo, paperback', amount: 1099, currency: 'eur' }],
  successUrl: 'https://shop.example/thanks',
  cancelUrl: 'https://shop.example/basket',
})
