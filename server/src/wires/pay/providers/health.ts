import type { HealthStatus } from '../../../http/health-route.ts'
import { cached, healthOf, type ProviderStatus } from '../../../providers/health.ts'
import { type OperationProvider, PROVIDERS, type PaymentProvider, type ProviderName } from './provider.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

export type PayHealth = { status: HealthStatus; providers: Record<ProviderName, ProviderStatus> }

/** Whether payments can be made: `unhealthy` if a configured provider does not answer. Remembered for a few seconds. */
export const createHealth = (
  { clock }: Pick<WireContext, 'clock'>,
  {
    providers,
    onchain,
  }: { providers: ReadonlyMap<OperationProvider, PaymentProvider>; onchain: () => Promise<ProviderStatus> },
): (() => Promise<PayHealth>) =>
  cached(async () => {
    const states = await Promise.all(
      PROVIDERS.map(async (name) => {
        if (name === 'onchain') return [name, await onchain()] as const
        const provider = providers.get(name)
        const { status } = await healthOf(provider ? [provider] : [], clock)
        return [name, status] as const
      }),
    )
    const isHealthy = states.every(([, status]) => status !== 'error')
    return {
      status: isHealthy ? 'healthy' : 'unhealthy',
      providers: Object.fromEntries(states) as PayHealth['providers'],
    }
  }, clock)
