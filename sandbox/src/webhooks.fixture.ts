// A sandbox with a stand-in that only sends webhooks, and an application that takes them.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { pino } from 'pino'

import { createApp } from '../../server/src/app.ts'
import { readMigrations } from '../../server/src/db/migrations.ts'
import { createJobs } from '../../server/src/kernel/jobs/jobs.ts'
import { testClock, type TestClock } from '../../server/src/testing/clock.ts'
import { temporaryFolder, type Ending, type Engine } from '../../server/src/testing/engines.ts'
import { freePort } from '../../server/src/testing/free-port.ts'
import type { ProviderFault } from './faults.ts'
import { createSandbox } from './index.ts'
import { createMail } from './mail/index.ts'
import { createPhone } from './phone/index.ts'
import type { StandIn, StandInContext } from './stand-in.ts'
import type { LoggedWebhook, WebhookStatus } from './webhook-rows.ts'
import { createWebhooks } from './webhook-routes.ts'
import type { Webhook, WebhookDeliveries } from './webhooks.ts'
import { SANDBOX_TABLES } from './wire.ts'

export type Delivery = { eventId: string; headers: IncomingHttpHeaders; body: string }

/** What the application answers to one webhook; undefined for no answer at all. */
type Answer =
  | { status: number; body?: string; headers?: Record<string, string>; breaksOff?: boolean }
  | undefined

/** An application that takes webhooks, and answers each as the test says; 200 by default. */
export async function startReceiver(ending: Ending) {
  const deliveries: Delivery[] = []
  const receiver = {
    url: '',
    deliveries,
    answer: (() => ({ status: 200 })) as (delivery: Delivery) => Answer,
    eventIds: () => deliveries.map(({ eventId }) => eventId),
  }
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = (await Array.fromAsync(request)) as Buffer[]
    const body = Buffer.concat(chunks).toString()
    const delivery = { eventId: (JSON.parse(body) as { id: string }).id, headers: request.headers, body }
    deliveries.push(delivery)
    const answer = receiver.answer(delivery)
    if (answer?.breaksOff) response.destroy()
    else if (answer) response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  const server = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.after(async () => {
    server.close()
    server.closeAllConnections()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`
  return receiver
}

const SECRET = 'a secret of the tests'
export const signatureOf = (eventId: string, body: string): string =>
  createHmac('sha256', SECRET).update(`${eventId}.${body}`).digest('hex')

/** A stand-in that only sends webhooks; `ready` gets what it sends them by. */
export const createSender =
  (
    name: string,
    url: string,
    ready: (webhooks: WebhookDeliveries) => void,
    rest: Partial<Pick<StandIn, 'routes' | 'part' | 'state'>> = {},
  ) =>
  ({ webhooks: log }: StandInContext): StandIn => {
    const webhooks = log.of(name, {
      url,
      sign: ({ eventId, body }) => ({ 'test-signature': signatureOf(eventId, body) }),
    })
    ready(webhooks)
    return {
      name,
      takesFaults: true,
      describe: () => ({ [`${name.toUpperCase()}_URL`]: url }),
      routes: async () => undefined,
      state: async () => ({ callbacksWaiting: await webhooks.waiting() }),
      reset: async () => undefined,
      ...rest,
    }
  }

/** A webhook, the log, how many are in each state, or an error. */
type Body = LoggedWebhook & { webhooks: unknown; error: { code: string; message: string } }

export type StartOptions = {
  databaseUrl?: string
  clock?: TestClock
  url: string
  /** What the senders have besides, by name. */
  senders?: Partial<Record<string, Parameters<typeof createSender>[3]>>
}

/** A server with a sandbox of two senders, `cardpay` and `walletpay`, and the log of their webhooks. */
export async function startSandbox(ending: Ending, engine: Engine, options: StartOptions) {
  const folder = await temporaryFolder(ending)
  const clock = options.clock ?? testClock()
  const databaseUrl = options.databaseUrl ?? (await engine.migratedUrl())
  const lines: string[] = []
  const app = await createApp({
    environment: {
      PORT: String(await freePort()),
      SIXWIRE_SANDBOX: 'on',
      LOG_LEVEL: 'silent',
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      SIXWIRE_SECRET: 'a secret of the tests that is long enough',
    },
    folder,
    clock,
    standIns: false,
  })
  const { db, settings } = app
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const jobs = createJobs({ db, clock, log })
  const senders = new Map<string, WebhookDeliveries>()
  const sandbox = createSandbox(
    { db, clock, jobs, settings, log },
    {
      creators: [
        createMail,
        createPhone,
        ...['cardpay', 'walletpay'].map((name) =>
          createSender(name, options.url, (webhooks) => senders.set(name, webhooks), options.senders?.[name]),
        ),
        createWebhooks,
      ],
    },
  )
  await sandbox.open(new Set(['CARDPAY_URL', 'WALLETPAY_URL']))
  await app.server.engine.register(sandbox.plugin, { prefix: '/sandbox' })
  await app.migrate()
  await db.migrate(await readMigrations('sandbox', SANDBOX_TABLES.migrations, db.dialect))
  const url = await app.listen()
  await jobs.start()
  let stopping: Promise<void> | undefined
  const stop = () =>
    (stopping ??= (async () => {
      sandbox.endStreams()
      await jobs.stop()
      await app.close()
    })())
  ending.after(stop)

  async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const response = await fetch(`${url}/sandbox/api${path}`, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  /** The log, newest first. */
  const logged = async (query = ''): Promise<LoggedWebhook[]> =>
    (await call('GET', `/webhooks${query}`)).body.webhooks as LoggedWebhook[]
  return {
    url,
    app,
    clock,
    call,
    stop,
    log: () => lines.join(''),
    /** Reports events to the application, by their ids. */
    async report(
      ids: readonly string[],
      {
        provider = 'cardpay',
        fault,
        ...rest
      }: Partial<Webhook> & { provider?: string; fault?: ProviderFault['callback'] } = {},
    ) {
      const webhooks = ids.map((eventId) => ({
        eventId,
        type: 'charge.succeeded',
        objectId: `ch_${eventId}`,
        body: JSON.stringify({ id: eventId, text: 'Grüße\n😀' }),
        dueAt: clock.now(),
        ...rest,
      }))
      await db.batch(senders.get(provider)!.insertSql(webhooks, fault))
    },
    webhooks: (provider: string) => senders.get(provider)!,
    logged,
    /** The only webhook in the log. */
    async onlyWebhook(): Promise<LoggedWebhook> {
      const [webhook, ...more] = await logged()
      if (!webhook || more.length > 0) throw new Error(`there are ${more.length} more webhooks in the log`)
      return webhook
    },
    /** How many webhooks are in each state. */
    counts: async () => (await call('GET', '')).body.webhooks as Record<WebhookStatus, number>,
  }
}
