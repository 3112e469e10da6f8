import type { HealthStatus } from '../../http/health-route.ts'
import { cached, healthOf, type ProviderHealth } from '../../providers/health.ts'
import { CHANNELS, type Channel, type Providers } from './providers/provider.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'

export type MessagingHealth = {
  status: HealthStatus
  providers: Record<Channel, ProviderHealth>
}

/** Whether messages can be sent: a channel is connected if one of its providers is. Remembered for a few seconds. */
export const createHealth = (
  { clock }: Pick<WireContext, 'clock'>,
  { providers }: { providers: Providers },
): (() => Promise<MessagingHealth>) =>
  cached(async () => {
    const [email, sms, whatsapp] = await Promise.all(
      ([providers.email, providers.sms, providers.whatsapp] as const).map((list) => healthOf(list, clock)),
    )
    const all = { email: email!, sms: sms!, whatsapp: whatsapp! }
    const isHealthy = Object.values(all).every(({ status }) => status !== 'error')
    return { status: isHealthy ? 'healthy' : 'unhealthy', providers: all }
  }, clock)

/** The check of each provider by its name, such as `email by smtp`, with its place if there are several. */
export function checksOf(providers: Providers): Map<string, () => Promise<void>> {
  const checks = new Map<string, () => Promise<void>>()
  for (const channel of CHANNELS) {
    const list = providers[channel]
    for (const [at, provider] of list.entries()) {
      const place = list.length > 1 ? ` (${at + 1} of ${list.length})` : ''
      checks.set(`${channel} by ${provider.name}${place}`, async () => provider.check())
    }
  }
  return checks
}
