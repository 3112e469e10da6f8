import { Type } from '../../base/schema.ts'
import type { PaymentProvider } from './providers/provider.ts'

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

/** The options of the pay wire. */
export const PayOptions = Type.Object({
  stripe: Type.Optional(
    Type.Object({
      secretKey: text('The secret key (sk_…) or a restricted key (rk_…) from the Stripe dashboard.'),
      webhookSecret: text('The signing secret (whsec_…) of the webhook endpoint.'),
      apiBase: text('The address of Stripe’s API. Default: https://api.stripe.com.'),
    }),
  ),
  paypal: Type.Optional(
    Type.Object({
      clientId: text('The client ID of the REST app from the PayPal dashboard.'),
      clientSecret: text('The secret of the REST app.'),
      webhookId: text('The ID of the webhook in the REST app.'),
      apiBase: text('The address of PayPal’s API. Default: https://api-m.paypal.com.'),
    }),
  ),
  reconcile: Type.Object(
    {
      firstSeconds: Type.Integer({
        minimum: 1,
        default: 10,
        description: 'How long after its last change a transaction that is not settled is reconciled.',
      }),
      maxSeconds: Type.Integer({
        minimum: 1,
        default: 3_600,
        description:
          'The longest time between two reconciliations of a transaction: the intervals double until then.',
      }),
      eventsSeconds: Type.Integer({
        minimum: 1,
        default: 3_600,
        description:
          'How often the events of the providers are listed, to find those whose webhook was lost.',
      }),
    },
    { default: {} },
  ),
  sweep: Type.Optional(
    Type.Object(
      {
        firstSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
        maxSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
        eventsSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
      },
      { description: 'The old name of `reconcile`: accepted, with a warning.' },
    ),
  ),
  onchain: Type.Object(
    {
      mnemonic: text(
        'The mnemonic (BIP-39) from which the receiving addresses are derived: m/44’/60’/0’/0/i.',
      ),
      expiresMinutes: Type.Integer({
        minimum: 1,
        maximum: 43_200,
        default: 60,
        description: 'How long a payment request can be paid.',
      }),
      treasuryAddress: Type.Optional(
        Type.String({
          pattern: '^0x[0-9a-fA-F]{40}$',
          description: 'Where `sixwire pay sweep` collects what was paid.',
        }),
      ),
    },
    { default: {} },
  ),
  returnHosts: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^(\\*|(\\[[\\da-fA-F:.]+\\]|[\\w.-]+)(:\\d{1,5})?)$',
        description: 'A host name or IP address, with a port or for all ports; * for any.',
      }),
      {
        minItems: 1,
        description:
          'The hosts of successUrl, returnUrl and cancelUrl, to which a buyer may be sent back. Default: in production that of APP_URL, elsewhere any.',
      },
    ),
  ),
  cardpay: Type.Optional(Type.Unsafe<PaymentProvider>({ type: 'object' })),
  walletpay: Type.Optional(Type.Unsafe<PaymentProvider>({ type: 'object' })),
})

/** The environment variables of the wire itself. */
export const PAY_ENV = {
  PAYMENT_EXPIRES: 'onchain.expiresMinutes',
  PAYMENT_RETURN_HOSTS: 'returnHosts',
} as const

/** The environment variables of the providers. */
export const PAY_PROVIDERS = {
  stripe: {
    env: {
      STRIPE_SECRET_KEY: 'secretKey',
      STRIPE_WEBHOOK_SECRET: 'webhookSecret',
      STRIPE_API_BASE: 'apiBase',
    },
    replacedBy: { cardpay: ['secretKey', 'webhookSecret', 'apiBase'] },
  },
  paypal: {
    env: {
      PAYPAL_CLIENT_ID: 'clientId',
      PAYPAL_CLIENT_SECRET: 'clientSecret',
      PAYPAL_WEBHOOK_ID: 'webhookId',
      PAYPAL_API_BASE: 'apiBase',
    },
    replacedBy: { walletpay: ['clientId', 'clientSecret', 'webhookId', 'apiBase'] },
  },
  onchain: {
    env: { PAYMENT_MNEMONIC: 'mnemonic', TREASURY_ADDRESS: 'treasuryAddress' },
    sharedWithSandbox: ['treasuryAddress'],
  },
} as const

/** What administrators may set while the server runs. */
export const PAY_SETTABLE = [
  'stripe.secretKey',
  'stripe.webhookSecret',
  'paypal.clientId',
  'paypal.clientSecret',
  'paypal.webhookId',
  'onchain.expiresMinutes',
  'returnHosts',
] as const
