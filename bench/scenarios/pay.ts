import Stripe from 'stripe'

import { defineScenario } from '../bench.ts'
import { callers, compare } from '../compare.ts'
import { loadSide } from '../load.ts'
import { askFor } from '../servers.ts'

const CALLERS = 16
const SHOP = 'https://shop.example/'
const BOOK = { name: 'Momo, paperback', amount: 1099, currency: 'eur' }

type Provider = { address: string; secretKey: string }

/** The package takes no path in front of /v1, and the sandbox has one. */
function stripeOf({ address, secretKey }: Provider): Stripe {
  const { hostname: host, port, pathname } = new URL(address)
  const httpClient = Stripe.createNodeHttpClient()
  const send = httpClient.makeRequest.bind(httpClient)
  httpClient.makeRequest = (toHost, toPort, path, ...rest) =>
    send(toHost, toPort, pathname.replace(/\/$/, '') + path, ...rest)
  const config = { protocol: 'http', host, port: Number(port), httpClient } as const
  return new Stripe(secretKey, { ...config, maxNetworkRetries: 0, telemetry: false })
}

function createSession(stripe: Stripe): Promise<unknown> {
  const { name, amount: unit_amount, currency } = BOOK
  const item = { quantity: 1, price_data: { currency, unit_amount, product_data: { name } } }
  const urls = { success_url: SHOP, cancel_url: SHOP }
  return stripe.checkout.sessions.create({ mode: 'payment', ...urls, line_items: [item] })
}

export default defineScenario({
  name: 'pay',
  summary: 'checkouts, each stored before and after the call, against the stripe package used bare',

  async prepare(bench) {
    const environment = { NODE_ENV: 'development', SIXWIRE_POLICY: 'open', LOG_LEVEL: 'warn' }
    const sandbox = await bench.open('sixwire', 'provider', { environment })
    const { cardpay: provider } = await askFor<{ cardpay: Provider }>(sandbox.base, 'GET /sandbox/api')
    const server = await bench.open('sixwire', 'sixwire', {
      environment: {
        STRIPE_API_BASE: provider.address,
        STRIPE_SECRET_KEY: provider.secretKey,
        PAYMENT_RETURN_HOSTS: 'shop.example',
        STRIPE_WEBHOOK_SECRET: 'whsec_only_for_measuring_0123456789',
      },
    })
    return { provider, server }
  },

  run(bench, { provider, server }) {
    const stripe = stripeOf(provider)
    const bare = callers(bench, CALLERS, () => createSession(stripe))
    const body = JSON.stringify({ items: [BOOK], successUrl: SHOP, cancelUrl: SHOP })
    const own = loadSide(bench, server, [{ method: 'POST', path: '/pay/cardpay/checkout', body }], CALLERS)
    return compare(bench, `checkouts of ${CALLERS} callers`, ['stripe package', bare], own)
  },
})
