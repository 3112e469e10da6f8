import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { raw } from '../../../http/bodies.ts'
import type { RawRequest } from '../../../http/raw-request.ts'
import { endpoint, type RouteSpec } from '../../../http/route.ts'
import { receiveErrors } from '../../../providers/receive.ts'
import type { OperationProvider } from '../providers/provider.ts'
import type { Webhooks } from '../inbox/webhooks.ts'

const WEBHOOK_BYTES = 1_048_576
/** For each client address: a provider sends the events of all payments from a few addresses. */
const WEBHOOKS_RATE = '60000/min'

const Received = Type.Object({ received: Type.Literal(true) }, { title: 'Received' })

/** The endpoints that receive the events of the providers. */
export function webhookEndpoints(wire: { webhooks: Webhooks; publicUrl: string }) {
  const { webhooks } = wire
  const webhook = async (provider: OperationProvider, body: RawRequest) => {
    const publicUrl = `${wire.publicUrl}/pay/${provider}/webhook`
    await webhooks.receive(provider, { ...body, publicUrl })
    return { received: true } as const
  }
  const webhookSpec = (provider: OperationProvider) =>
    ({
      access: 'public',
      limit: { rate: WEBHOOKS_RATE, countedIn: 'process' },
      authorize: (headers) => webhooks.authorize(provider, headers),
      body: raw({ maxBytes: WEBHOOK_BYTES }),
      reply: { 200: Received },
      errors: [receiveErrors.invalid_signature, errors.provider_not_configured, errors.unavailable],
    }) as const satisfies Omit<RouteSpec, 'summary'>

  return {
    cardpay: endpoint(
      { ...webhookSpec('cardpay'), summary: 'Receive an event of the card provider' },
      ({ body }) => webhook('cardpay', body),
    ),
    walletpay: endpoint(
      { ...webhookSpec('walletpay'), summary: 'Receive an event of the wallet provider' },
      ({ body }) => webhook('walletpay', body),
    ),
  }
}
