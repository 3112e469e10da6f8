import type { FastifyPluginAsync } from 'fastify'

import { errors } from '../../server/src/base/errors.ts'
import type { Variables } from '../../server/src/kernel/config/config.ts'
import type { SandboxLists } from '../../server/src/kernel/wire/sandbox-lists.ts'
import { createAccess, logAccess } from './access.ts'
import { createApi, describeAll } from './api.ts'
import { createAuthenticator } from './authenticator.ts'
import { createCallbackQueue } from './callbacks.ts'
import { createCardpay } from './cardpay/index.ts'
import { createChains } from './chains/index.ts'
import { createEvents, type Version } from './events.ts'
import { createFaults } from './faults.ts'
import { createFrontend } from './frontend.ts'
import { createMail } from './mail/index.ts'
import { createPhone } from './phone/index.ts'
import { createDirectory } from './idp/directory.ts'
import { createIdpa } from './idp/idpa.ts'
import { createIdpb } from './idp/idpb.ts'
import { createApple, createCompany, createMicrosoft } from './idp/named-issuers.ts'
import { createPage } from './page.ts'
import { createReceiver } from './receiver/index.ts'
import type { StandIn, StandInContext } from './stand-in.ts'
import { createWebhooks } from './webhook-routes.ts'
import { createWalletpay } from './walletpay/index.ts'
import { createWebhookLog } from './webhooks.ts'

/** Local stand-ins for the providers that an application has not configured. */
export type Sandbox = {
  /**
   * Opens the stand-ins of providers that are not configured: those with a variable of these. No other one opens a port.
   *
   * @param unconfigured the variables of all providers that nothing configures
   */
  open(unconfigured: ReadonlySet<string>): Promise<void>
  /** The environment variables with which production adapters reach the stand-ins that are open; none before `open`. */
  readonly variables: Readonly<Record<string, string>>
  /** Host names of stand-ins whose clients take no path, with the path of each. */
  readonly hosts: Readonly<Record<string, string>>
  /** Everything below `/sandbox`; to be registered after `open`. */
  readonly plugin: FastifyPluginAsync
  /**
   * Called once the tables exist.
   *
   * @param configured the final values of the variables
   * @param lists what of the application the page shows
   */
  start(configured: Variables, lists?: SandboxLists): Promise<void>
  /** Ends the event streams that pages listen to. */
  endStreams(): void
  close(): Promise<void>
}

type CreateStandIn = (context: StandInContext) => StandIn

// One line per stand-in.
const STAND_INS: readonly CreateStandIn[] = [
  createMail,
  createPhone,
  createAuthenticator,
  createDirectory,
  createIdpa,
  createIdpb,
  createCompany,
  createApple,
  createMicrosoft,
  createCardpay,
  createWalletpay,
  createChains,
  createWebhooks,
  createReceiver,
]

/** Creates the sandbox; nothing listens before `open`, and nothing is stored before `start`. */
export function createSandbox(
  context: Omit<StandInContext, 'faults' | 'callbacks' | 'webhooks' | 'base' | 'endpoints'> &
    Partial<Pick<StandInContext, 'endpoints'>>,
  { creators = STAND_INS }: { creators?: readonly CreateStandIn[] } = {},
): Sandbox {
  const { log, settings } = context
  const faults = createFaults(context)
  const callbacks = createCallbackQueue(context)
  const mayCall = createAccess(settings)
  const webhooks = createWebhookLog(context)
  const standInContext: StandInContext = {
    endpoints: [],
    ...context,
    faults,
    callbacks,
    webhooks,
    base: settings.sandboxUrl,
  }
  const standIns = creators.map((create) => create(standInContext))
  const used = new Set<StandIn>()
  const describe = () => describeAll(standIns, used, faults)
  const events = createEvents(context, {
    parts: new Map<string, Version>([
      ...standIns.flatMap(({ part }) => (part ? [[part.name, part.version] as const] : [])),
      ['providers', describe],
    ]),
  })
  return {
    async open(unconfigured) {
      for (const one of standIns) {
        const names = Object.keys(one.describe())
        if (names.length > 0 && !names.some((name) => unconfigured.has(name))) continue
        used.add(one)
        await one.open?.()
      }
    },
    get variables() {
      return Object.assign({}, ...Array.from(used, (one) => one.describe())) as Record<string, string>
    },
    hosts: { 'stripe.localhost': '/sandbox/cardpay' },
    async plugin(engine) {
      engine.addHook('onRequest', async (request) => mayCall(request))
      // With a handler of its own the check above holds for unknown paths, too.
      engine.setNotFoundHandler(async () => {
        throw errors.not_found()
      })
      const unused = standIns.filter((one) => !used.has(one)).map(({ name }) => name)
      await engine.register(createPage({ base: settings.sandboxUrl, appUrl: settings.appUrl, unused }))
      await engine.register(createFrontend(settings))
      await engine.register(createApi({ standIns, describe, faults, webhooks }))
      await engine.register(events.plugin)
      for (const { routes } of standIns) await engine.register(routes)
    },
    async start(configured, lists = {}) {
      logAccess(settings, log)
      for (const one of used) await one.start?.(configured, lists)
    },
    endStreams: () => events.close(),
    async close() {
      for (const one of [...used].toReversed()) await one.close?.()
    },
  }
}
