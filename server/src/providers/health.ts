import type { Clock } from '../base/clock.ts'
import { errors, type ApiError } from '../base/errors.ts'
import { within } from '../base/within.ts'

const LIMIT_MS = 5_000
// Anybody may ask: providers are asked for all of them together.
const CACHE_MS = 10_000

/** The words for a provider's state, in every wire. */
export const PROVIDER_STATUS = ['connected', 'not_configured', 'error'] as const
export type ProviderStatus = (typeof PROVIDER_STATUS)[number]

/** The provider that is connected, else the first; `none` if there is none. */
export type ProviderHealth = { provider: string; status: ProviderStatus }

/** What can be asked whether it answers. */
export type Checkable = {
  readonly name: string
  /** Rejects, with a sentence for the operator, if the provider cannot be reached or does not know us. */
  check(): Promise<void>
}

/** The health of providers that take each other's place: `connected` if one of them is. Each has 5 seconds. */
export async function healthOf(
  providers: readonly Checkable[],
  clock: Pick<Clock, 'timer'>,
): Promise<ProviderHealth> {
  const [first] = providers
  if (!first) return { provider: 'none', status: 'not_configured' }
  const checks = await Promise.allSettled(providers.map((one) => within(LIMIT_MS, () => one.check(), clock)))
  const connected = providers.find((_one, at) => checks[at]?.status === 'fulfilled')
  return connected
    ? { provider: connected.name, status: 'connected' }
    : { provider: first.name, status: 'error' }
}

/**
 * Remembers an answer for 10 seconds, and asks once for all who ask at the same time. A rejection is not remembered.
 *
 * @example
 * const health = cached(() => healthOf(providers, clock), clock)
 */
export function cached<T>(ask: () => Promise<T>, clock: Pick<Clock, 'elapsed'>): () => Promise<T> {
  let last: { at: number; answer: Promise<T> } | undefined
  return () => {
    const now = clock.elapsed()
    if (last && now - last.at <= CACHE_MS) return last.answer
    const request = { at: now, answer: ask() }
    last = request
    request.answer.catch(() => {
      if (last === request) last = undefined
    })
    return request.answer
  }
}

/**
 * PROVIDER_NOT_CONFIGURED: nobody does what the call needs.
 *
 * @param options.what what the provider would be for: `email`
 * @param options.variables what the operator sets for it
 * @param options.details further details; `provider` is null
 */
export const notConfigured = (options: {
  what: string
  variables: string
  details?: Readonly<Record<string, unknown>>
}): ApiError =>
  errors.provider_not_configured({
    message: `No provider for ${options.what} is configured: the operator sets ${options.variables}.`,
    details: { ...options.details, provider: null },
  })
