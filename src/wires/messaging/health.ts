import { succeedsWithin } from '../../base/within.ts'
import type { HealthStatus } from '../../http/health-route.ts'
import { CHANNELS, type Channel, type Providers } from './provider.ts'

const LONGEST_WAIT_MS = 5_000
// Anybody may ask: providers are asked for all of them together.
const REMEMBERED_MS = 10_000

type ChannelHealth = { provider: string; status: 'connected' | 'unreachable' | 'not configured' }
export type MessagingHealth = {
  status: HealthStatus
  providers: Record<Channel, ChannelHealth>
}

/**
 * Whether messages can be sent: a channel is connected where one of its providers is.
 * Answers are remembered for a few seconds.
 */
export function createHealth(providers: Providers): () => Promise<MessagingHealth> {
  let last: { at: number; asked: Promise<MessagingHealth> } | undefined

  async function ask(): Promise<MessagingHealth> {
    const [email, sms, whatsapp] = await Promise.all(CHANNELS.map((channel) => healthOf(providers[channel])))
    const all = { email: email!, sms: sms!, whatsapp: whatsapp! }
    const healthy = Object.values(all).every(({ status }) => status !== 'unreachable')
    return { status: healthy ? 'healthy' : 'unhealthy', providers: all }
  }

  return () => {
    const now = performance.now()
    if (!last || now - last.at > REMEMBERED_MS) last = { at: now, asked: ask() }
    return last.asked
  }
}

/** The check of each provider under its name: `email by smtp`, and which one it is where there are several. */
export function checksOf(providers: Providers): Map<string, () => Promise<void>> {
  const checks = new Map<string, () => Promise<void>>()
  for (const channel of CHANNELS) {
    const list = providers[channel]
    for (const [at, provider] of list.entries()) {
      const place = list.length > 1 ? ` (${at + 1} of ${list.length})` : ''
      checks.set(`${channel} by ${provider.name}${place}`, () => provider.check())
    }
  }
  return checks
}

async function healthOf(list: readonly { name: string; check(): Promise<void> }[]): Promise<ChannelHealth> {
  const [first] = list
  if (!first) return { provider: 'none', status: 'not configured' }
  const connected = await Promise.all(
    list.map((provider) => succeedsWithin(LONGEST_WAIT_MS, () => provider.check())),
  )
  const at = connected.indexOf(true)
  return at < 0
    ? { provider: first.name, status: 'unreachable' }
    : { provider: list[at]!.name, status: 'connected' }
}
