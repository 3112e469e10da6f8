import type { FastifyPluginAsync } from 'fastify'

import { errors } from '../base/errors.ts'
import { createAccess, logAccess } from './access.ts'
import { createApi, describeAll } from './api.ts'
import { createCallbackQueue } from './callbacks.ts'
import { createEvents, type Version } from './events.ts'
import { createFaults } from './faults.ts'
import { createFrontend } from './frontend.ts'
import { createMail } from './mail/index.ts'
import { createPhone } from './phone/index.ts'
import { createDirectory } from './idp/directory.ts'
import { createIdpa } from './idp/idpa.ts'
import { createIdpb } from './idp/idpb.ts'
import { createPage } from './page.ts'
import type { Variables } from '../kernel/wiring.ts'
import type { StandIn, StandInContext } from './stand-in.ts'

/** Local stand-ins for the providers that an application has not configured yet. */
export type Sandbox = {
  /** What production adapters are configured with to reach them: environment variables. */
  readonly variables: Readonly<Record<string, string>>
  readonly migrations: URL
  /** Everything below `/sandbox`. */
  readonly plugin: FastifyPluginAsync
  /**
   * Called once the tables are there.
   *
   * @param configured what the application goes by in the end, by variable
   */
  start(configured: Variables): Promise<void>
  /** Ends the streams of events that pages listen to. */
  endStreams(): void
  close(): Promise<void>
}

// One line a stand-in.
const STAND_INS: readonly ((context: StandInContext) => Promise<StandIn>)[] = [
  createMail,
  createPhone,
  createDirectory,
  createIdpa,
  createIdpb,
]

/** Opens the stand-ins. Their addresses are known from here on; they hold nothing before `start`. */
export async function createSandbox(
  given: Omit<StandInContext, 'faults' | 'callbacks' | 'base'>,
): Promise<Sandbox> {
  const { db, clock, log, settings } = given
  const faults = createFaults(db, clock)
  const callbacks = createCallbackQueue(db, clock, log, settings.secret)
  const mayCall = createAccess(settings)
  const context = { ...given, faults, callbacks, base: settings.sandboxUrl }
  const standIns: StandIn[] = []
  const close = async (): Promise<void> => {
    await callbacks.close()
    for (const one of standIns.toReversed()) await one.close?.()
  }
  try {
    for (const create of STAND_INS) standIns.push(await create(context))
  } catch (error) {
    await close()
    throw error
  }
  const events = createEvents(
    db,
    clock,
    new Map<string, Version>([
      ...standIns.flatMap(({ part }) => (part ? [[part.name, part.version] as const] : [])),
      ['providers', () => describeAll(standIns, faults)],
    ]),
  )
  return {
    variables: Object.assign({}, ...standIns.map(({ variables }) => variables)) as Record<string, string>,
    migrations: new URL('./migrations/', import.meta.url),
    async plugin(engine) {
      engine.addHook('onRequest', async (request) => mayCall(request))
      // With one of its own, the check above holds for unknown addresses, too.
      engine.setNotFoundHandler(async () => {
        throw errors.not_found()
      })
      await engine.register(createPage(context.base, settings.appUrl))
      await engine.register(createFrontend(settings))
      await engine.register(createApi(standIns, faults))
      await engine.register(events.plugin)
      for (const { routes } of standIns) await engine.register(routes)
    },
    async start(configured) {
      logAccess(settings, log)
      for (const one of standIns) await one.start?.(configured)
      callbacks.start()
    },
    endStreams: () => events.close(),
    close,
  }
}
