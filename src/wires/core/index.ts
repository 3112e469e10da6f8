import { defineWire } from '../../kernel/wire.ts'
import { coreRoutes } from './routes.ts'
import { webhookDiagnosis } from './webhook-diagnosis.ts'

/** Health, readiness, version and metrics of the server, and the webhooks that its events are sent to. */
export const core = defineWire({
  name: 'core',
  description: 'Health, readiness, version and metrics of the server, and webhooks.',
  setup({ db, clock, server, settings }) {
    return {
      routes: coreRoutes({ db, clock, server, settings }),
      service: undefined,
      diagnoses: [webhookDiagnosis(server.webhooks)],
    }
  },
})
