import { within } from '../../../../base/within.ts'
import { jsonOf, type Outbound, type Reply } from '../../../../outbound/outbound.ts'
import { objectOf, textOf } from './paypal-fields.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

const TOKEN_MS = 8_000
/** A token is not used in its last minute: the call that has it may be slow. */
const SPARE_MS = 60_000

/** An access token, and whether it was fetched for this caller; or why there is none. */
export type PaypalAccess = { token: string; isNew: boolean } | { reason: string }

/** The access token of a client: https://developer.paypal.com/api/rest/authentication/ */
export type PaypalTokens = {
  /** Returns the cached token, or fetches one: callers that come together share one request. Never rejects. */
  get(limitMs: number): Promise<PaypalAccess>
  /** Forgets a token that PayPal refused. */
  drop(token: string): void
  /** Resolves when no request for a token is in progress. */
  idle(): Promise<void>
}

export function createTokens(
  { clock }: Pick<WireContext, 'clock'>,
  { outbound }: { outbound: Outbound },
  { credentials }: { credentials: { clientId: string; clientSecret: string } },
): PaypalTokens {
  const { clientId, clientSecret } = credentials
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  let cache: { token: string; until: number } | undefined
  let fetching: Promise<PaypalAccess> | undefined

  async function request(): Promise<PaypalAccess> {
    const requestedAt = clock.elapsed()
    const reply = await outbound.call('/v1/oauth2/token', {
      headers: { authorization: `Basic ${basic}` },
      form: { grant_type: 'client_credentials' },
      limitMs: TOKEN_MS,
    })
    if (reply.kind !== 'answered') return { reason: reply.reason }
    const { access_token, expires_in } = objectOf(jsonOf(reply))
    const token = textOf(access_token)
    // It is sent as a header.
    if (reply.status !== 200 || token === undefined || !/^[\x21-\x7e]{1,4096}$/.test(token))
      return { reason: refusal(reply) }
    const seconds = typeof expires_in === 'number' && expires_in > 0 ? expires_in : 0
    cache = { token, until: requestedAt + seconds * 1000 - SPARE_MS }
    return { token, isNew: true }
  }

  return {
    async get(limitMs) {
      if (cache && clock.elapsed() < cache.until) return { token: cache.token, isNew: false }
      fetching ??= request().finally(() => (fetching = undefined))
      const shared = fetching
      try {
        return await within(limitMs, () => shared, clock)
      } catch {
        return { reason: `PayPal gave no access token within ${Math.round(limitMs / 100) / 10} seconds` }
      }
    },
    drop(token) {
      if (cache?.token === token) cache = undefined
    },
    async idle() {
      await fetching
    },
  }
}

function refusal({ status }: Reply & { kind: 'answered' }): string {
  if (status === 400 || status === 401 || status === 403)
    return `PayPal does not know this client ID or its secret (${status}): check PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET and PAYPAL_API_BASE`
  return `PayPal answered ${status} without an access token`
}
