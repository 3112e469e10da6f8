import type { IncomingHttpHeaders } from 'node:http'

import { authorizeByOneOf, receiveByOneOf, type WebhookRequest } from '../../../providers/receive.ts'
import { isEvent } from '../providers/answers.ts'
import { notConfigured } from '../errors.ts'
import type { PaymentEvents } from './provider-events.ts'
import type { OperationProvider, PaymentProvider } from '../providers/provider.ts'

export type Webhooks = {
  /**
   * Refuses a webhook by its headers, before its body is read.
   *
   * @throws INVALID_SIGNATURE, PROVIDER_NOT_CONFIGURED
   */
  authorize(provider: OperationProvider, headers: IncomingHttpHeaders): void
  /**
   * Verifies a webhook and stores its event; what it changes is done afterwards.
   *
   * @throws INVALID_SIGNATURE, PROVIDER_NOT_CONFIGURED, UNAVAILABLE if it cannot be verified or stored now
   */
  receive(provider: OperationProvider, request: WebhookRequest): Promise<void>
}

export function createWebhooks({
  providers,
  events,
}: {
  providers: ReadonlyMap<OperationProvider, PaymentProvider>
  events: PaymentEvents
}): Webhooks {
  function receiversOf(name: OperationProvider): readonly PaymentProvider[] {
    const provider = providers.get(name)
    if (!provider) throw notConfigured(name)
    return [provider]
  }

  return {
    authorize: (name, headers) => authorizeByOneOf(receiversOf(name), headers),
    async receive(name, request) {
      const providerEvents: readonly unknown[] = await receiveByOneOf(receiversOf(name), request)
      if (!providerEvents.every(isEvent))
        throw new TypeError(`the provider of ${name} read a webhook as what is no event`)
      for (const event of providerEvents) await events.store(name, event)
    },
  }
}
