import type { Clock } from '../../../base/clock.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { StartError } from '../../../base/start-error.ts'
import type { Settings } from '../../../kernel/config/config.ts'
import { isAddressAlone } from '../../../kernel/wire/provider-options.ts'
import type { OperationProvider, PaymentProvider } from './provider.ts'

/** The credentials of the providers, and providers of the configuration file, which take their place. */
type ProviderOptions = {
  stripe?: { secretKey?: string; webhookSecret?: string; apiBase?: string }
  paypal?: { clientId?: string; clientSecret?: string; webhookId?: string; apiBase?: string }
  cardpay?: PaymentProvider
  walletpay?: PaymentProvider
}

const VERBS = ['create', 'refund', 'retrieve', 'events', 'receive', 'check', 'close'] as const

/**
 * Makes the provider of each way to pay from the options: that of the configuration file, or the one that the environment
 * names.
 *
 * @throws StartError if a provider's options are incomplete or wrong, or it is live under a policy that nobody chose
 */
export async function openProviders(
  { clock, settings }: { clock: Clock; settings: Pick<Settings, 'production' | 'policy' | 'isPolicySet'> },
  options: ProviderOptions,
): Promise<ReadonlyMap<OperationProvider, PaymentProvider>> {
  if (settings.production) {
    checkBase('STRIPE_API_BASE', options.stripe?.apiBase)
    checkBase('PAYPAL_API_BASE', options.paypal?.apiBase)
  }
  const cardpay = options.cardpay ?? (await cardProvider(options.stripe, clock))
  const walletpay = options.walletpay ?? (await walletProvider(options.paypal, clock))
  const providers = new Map<OperationProvider, PaymentProvider>()
  for (const [name, provider, verbs] of [
    ['cardpay', cardpay, VERBS],
    ['walletpay', walletpay, [...VERBS, 'capture']],
  ] as const) {
    if (!provider) continue
    const missing = verbs.find((verb) => typeof provider[verb as (typeof VERBS)[number]] !== 'function')
    if (missing !== undefined) throw new StartError(`pay.${name}: its provider has no ${missing}()`)
    providers.set(name, provider)
    if (provider.isLive === true) checkPolicy(name, provider, settings)
  }
  return providers
}

/** Under `open` any user may refund anybody's payment: not with real money unless that was chosen. */
function checkPolicy(
  name: OperationProvider,
  provider: PaymentProvider,
  { policy, isPolicySet }: Pick<Settings, 'policy' | 'isPolicySet'>,
): void {
  if (policy === 'open' && !isPolicySet)
    throw new StartError(
      `SIXWIRE_POLICY: it is not set, so it is open, and ${name} has live credentials of ${provider.name}: any signed-in user could refund real payments. Write guarded, or open if that is meant`,
    )
}

/** Over plain http, anybody on the way reads the secret key, and can say that something was paid. */
function checkBase(variable: string, base: string | undefined): void {
  const url = base !== undefined && URL.canParse(base) ? new URL(base) : undefined
  if (url?.protocol === 'http:' && !isLoopback(url.hostname))
    throw new StartError(`${variable}: "${url.origin}" must be https in production`)
}

async function cardProvider(
  options: ProviderOptions['stripe'],
  clock: Clock,
): Promise<PaymentProvider | undefined> {
  if (!options || isAddressAlone(options)) return undefined
  const { secretKey, ...rest } = options
  if (secretKey === undefined)
    throw new StartError('STRIPE_SECRET_KEY: it is not set, but other names of Stripe are')
  // Loaded only if it is configured, as the other one below.
  const { stripe } = await import('./stripe.ts')
  return stripe({ secretKey, ...rest }, clock)
}

async function walletProvider(
  options: ProviderOptions['paypal'],
  clock: Clock,
): Promise<PaymentProvider | undefined> {
  if (!options || isAddressAlone(options)) return undefined
  const { clientId, clientSecret, ...rest } = options
  if (clientId === undefined || clientSecret === undefined)
    throw new StartError(
      `PAYPAL_CLIENT_${clientId === undefined ? 'ID' : 'SECRET'}: it is not set, but other names of PayPal are`,
    )
  const { paypal } = await import('./paypal.ts')
  return paypal({ clientId, clientSecret, ...rest }, clock)
}
