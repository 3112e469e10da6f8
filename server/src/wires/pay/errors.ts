import { defineErrors, errors, type ApiError } from '../../base/errors.ts'
import { notConfigured as providerNotConfigured } from '../../providers/health.ts'
import type { OperationProvider, PaymentProvider, ProviderName } from './providers/provider.ts'

/** The errors of the pay wire. */
export const payErrors = defineErrors({
  invalid_state: [409, 'The state of this payment does not allow this.'],
  amount_exceeded: [422, 'The amount is more than what is left of the payment.'],
  payment_declined: [422, 'The payment was declined: the buyer can choose another way to pay.'],
  provider_error: [502, 'The payment provider could not do this.'],
})

const VARIABLES: Readonly<Record<ProviderName, string>> = {
  cardpay: 'STRIPE_SECRET_KEY',
  walletpay: 'PAYPAL_CLIENT_ID and PAYPAL_CLIENT_SECRET',
  onchain: 'PAYMENT_MNEMONIC',
}

/** PROVIDER_NOT_CONFIGURED, with the variables that configure the provider. */
export const notConfigured = (provider: ProviderName): ApiError =>
  providerNotConfigured({ what: provider, variables: VARIABLES[provider] })

/** The errors of every route that calls a provider. */
export const operationErrors = [errors.provider_not_configured, payErrors.provider_error] as const

/** @throws PROVIDER_NOT_CONFIGURED */
export function providerIn(
  providers: ReadonlyMap<OperationProvider, PaymentProvider>,
  name: OperationProvider,
): PaymentProvider {
  const provider = providers.get(name)
  if (!provider) throw notConfigured(name)
  return provider
}

/** What the history of a transaction names as the cause of what a request changed. */
export const causeOf = (requestId: string): string => `request ${requestId}`
