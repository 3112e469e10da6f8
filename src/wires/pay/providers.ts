import type { Static } from 'typebox'

import type { Clock } from '../../base/clock.ts'
import { isLoopback } from '../../base/loopback.ts'
import { StartError } from '../../base/start-error.ts'
import type { CallProvider } from './errors.ts'
import type { PayOptions } from './options.ts'
import type { PaymentProvider } from './provider.ts'

type Options = Omit<Static<typeof PayOptions>, 'onchain'>

const VERBS = ['create', 'refund', 'look', 'events', 'receive', 'check', 'close'] as const

/**
 * Makes the provider of each way to pay from the options: that of the configuration file, or the one that the environment
 * names.
 *
 * @throws StartError if a provider's options are incomplete or wrong
 */
export async function openProviders(
  options: Options,
  clock: Clock,
  { production }: { production: boolean },
): Promise<ReadonlyMap<CallProvider, PaymentProvider>> {
  if (production) {
    checkBase('STRIPE_API_BASE', options.stripe?.apiBase)
    checkBase('PAYPAL_API_BASE', options.paypal?.apiBase)
  }
  const cardpay = options.cardpay ?? (await cardProvider(options.stripe, clock))
  const walletpay = options.walletpay ?? (await walletProvider(options.paypal, clock))
  const providers = new Map<CallProvider, PaymentProvider>()
  for (const [name, provider, verbs] of [
    ['cardpay', cardpay, VERBS],
    ['walletpay', walletpay, [...VERBS, 'capture']],
  ] as const) {
    if (!provider) continue
    const missing = verbs.find((verb) => typeof provider[verb as (typeof VERBS)[number]] !== 'function')
    if (missing !== undefined) throw new StartError(`pay.${name}: its provider has no ${missing}()`)
    providers.set(name, provider)
  }
  return providers
}

/** Over plain http, anybody on the way reads the secret key, and can say that something was paid. */
function checkBase(variable: string, base: string | undefined): void {
  const url = base !== undefined && URL.canParse(base) ? new URL(base) : undefined
  if (url?.protocol === 'http:' && !isLoopback(url.hostname))
    throw new StartError(`${variable}: "${url.origin}" must be https in production`)
}

async function cardProvider(options: Options['stripe'], clock: Clock): Promise<PaymentProvider | undefined> {
  if (!options) return undefined
  const { secretKey, ...rest } = options
  if (secretKey === undefined)
    throw new StartError('STRIPE_SECRET_KEY: it is not set, but other names of Stripe are')
  // Loaded only if it is configured, as the other one below.
  const { stripe } = await import('./providers/stripe.ts')
  return stripe({ secretKey, ...rest }, clock)
}

async function walletProvider(
  options: Options['paypal'],
  clock: Clock,
): Promise<PaymentProvider | undefined> {
  if (!options) return undefined
  const { clientId, clientSecret, ...rest } = options
  if (clientId === undefined || clientSecret === undefined)
    throw new StartError(
      `PAYPAL_CLIENT_${clientId === undefined ? 'ID' : 'SECRET'}: it is not set, but other names of PayPal are`,
    )
  const { paypal } = await import('./providers/paypal.ts')
  return paypal({ clientId, clientSecret, ...rest }, clock)
}
