import type { Outbound, OutboundCall, Reply } from '../../../../outbound/outbound.ts'
import { createTokens } from './paypal-token.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

/** Calls of PayPal's API with an access token. */
export type PaypalClient = {
  /**
   * Makes a call within its limit. If there is no token, nothing was sent. A call that PayPal refuses with 401 has done
   * nothing: if its token was a cached one, it is made once more with a new one.
   */
  call(path: string, call: OutboundCall & { limitMs: number }): Promise<Reply>
  /** Resolves when no request for a token is in progress. */
  idle(): Promise<void>
}

export function createClient(
  { clock }: Pick<WireContext, 'clock'>,
  { outbound }: { outbound: Outbound },
  { credentials }: { credentials: { clientId: string; clientSecret: string } },
): PaypalClient {
  const tokens = createTokens({ clock }, { outbound }, { credentials })
  return {
    async call(path, call) {
      const deadline = clock.elapsed() + call.limitMs
      for (let attempt = 1; ; attempt++) {
        const access = await tokens.get(deadline - clock.elapsed())
        if ('reason' in access) return { kind: 'not-sent', reason: access.reason }
        const reply = await outbound.call(path, {
          ...call,
          headers: { ...call.headers, authorization: `Bearer ${access.token}` },
          limitMs: deadline - clock.elapsed(),
        })
        if (reply.kind !== 'answered' || reply.status !== 401) return reply
        tokens.drop(access.token)
        if (access.isNew || attempt === 2) return reply
      }
    },
    idle: () => tokens.idle(),
  }
}
