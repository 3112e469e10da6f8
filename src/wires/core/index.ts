import { defineWire } from '../../kernel/wire.ts'
import { coreRoutes } from './routes.ts'

/** Health, readiness, version and metrics of the server. */
export const core = defineWire({
  name: 'core',
  description: 'Health, readiness, version and metrics of the server.',
  setup({ db, server, settings }) {
    return { routes: coreRoutes({ db, server, settings }), service: undefined }
  },
})
