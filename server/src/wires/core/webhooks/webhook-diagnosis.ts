import { warning, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import type { WebhookOperations } from './webhooks.ts'

/** What `sixwire doctor` says of webhooks: those that are off, and those that fail. */
export const webhookDiagnosis = (webhooks: WebhookOperations): Diagnosis => ({
  name: 'webhooks',
  about: 'whether events reach their webhooks',
  opens: { title: 'Show the webhooks', at: 'webhooks' },
  async find() {
    const all = await webhooks.list()
    return all.flatMap(({ name, state, waiting, failingSince, offReason }) => {
      if (state === 'off')
        return [
          {
            ...warning(
              `the webhook ${name} is switched off (${offReason}), and ${waiting} events wait`,
              `repair its receiver, then POST /core/webhooks/${name}/enable`,
            ),
            mend: {
              label: 'Switch it on',
              call: `POST /core/webhooks/${encodeURIComponent(name)}/enable`,
              done: `The webhook ${name} is on.`,
            },
          },
        ]
      if (failingSince === undefined) return []
      return [
        warning(
          `the webhook ${name} has failed since ${failingSince}, and ${waiting} events wait`,
          'GET /core/webhooks/deliveries says why; after three days it is switched off',
        ),
      ]
    })
  },
})
