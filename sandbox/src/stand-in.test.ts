import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'

import Fastify from 'fastify'
import { createTransport } from 'nodemailer'

import { createApp } from '../../server/src/app.ts'
import { systemClock } from '../../server/src/base/clock.ts'
import { Type } from '../../server/src/base/schema.ts'
import { checkOptions, unconfiguredVariables } from '../../server/src/kernel/wire/options.ts'
import { defineWire } from '../../server/src/kernel/wire/wire.ts'
import { startApp, type TestAnswer, type StartOptions, type TestApp } from '../../server/src/testing/app.ts'
import { someEngine, temporaryFolder } from '../../server/src/testing/engines.ts'
import { startMailServer } from '../../server/src/testing/mail-server.ts'
import { createJobs } from '../../server/src/kernel/jobs/jobs.ts'
import { createSandbox } from './index.ts'
import { stablePort } from './ports.ts'
import type { StandIn } from './stand-in.ts'
import { configuredWires } from '../../server/src/wires.ts'

type Json = TestAnswer['body']

const byPath = (one: string, other: string): number =>
  one.split(' ')[1]!.localeCompare(other.split(' ')[1]!) || one.localeCompare(other)

const stateOf = async (app: TestApp): Promise<Json> => (await app.request('GET', '/sandbox/api')).body

/** Whether something listens at the address. */
async function isOpen(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

const IDPA = { IDPA_CLIENT_ID: 'own', IDPA_CLIENT_SECRET: 'own' }
const TWILIO = { TWILIO_ACCOUNT_SID: 'AC1', TWILIO_AUTH_TOKEN: 'own' }

someEngine((engine) => {
  test('the variables of the stand-ins fit the options of the wires', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const {
      people,
      authenticator: _app,
      webhooks,
      receiver: _receiver,
      faults,
      ...standIns
    } = await stateOf(app)
    const variables = Object.assign({}, ...Object.values<Json>(standIns).map((one) => one.variables))
    assert.ok(Object.keys(variables).length > 20)
    checkOptions(configuredWires({}), variables)
  })

  for (const [provider, options] of [
    ['mail', { environment: { SMTP_URL: 'smtp://127.0.0.1:1' } }],
    ['mail', { config: { messaging: { smtp: { url: 'smtp://127.0.0.1:1' } } } }],
    ['phone', { environment: TWILIO }],
    ['idpa', { environment: IDPA }],
    ['idpb', { environment: { IDPB_CLIENT_ID: 'own', IDPB_CLIENT_SECRET: 'own' } }],
  ] as [string, StartOptions][])
    test(`${JSON.stringify(options)} ends the stand-in ${provider} alone`, async (t) => {
      const app = await startApp(t, engine, { ...options, sandbox: true })
      const {
        people,
        authenticator: _app,
        webhooks,
        receiver: _receiver,
        faults,
        ...standIns
      } = await stateOf(app)
      assert.deepEqual(
        Object.entries(standIns as Record<string, Json>)
          .filter(([, one]) => one.inUse === false)
          .map(([name]) => name),
        [provider],
      )
      const { inUse, takesFaults, variables, ...state } = standIns[provider]
      assert.deepEqual([inUse, takesFaults, state], [false, true, {}])
      assert.ok(Object.keys(variables).length > 2, 'it says what it would be')
      assert.equal(await isOpen(standIns.mail.variables.SMTP_URL), provider !== 'mail')
      assert.ok(people.people > 0 && webhooks && faults)
      const page = (await app.request('GET', '/sandbox')).text
      assert.match(page, new RegExp(`data-unused="${provider}"`))
    })

  test('a configured mail server gets the mail, and no secret of a stand-in is in force', async (t) => {
    const own = await startMailServer(t)
    const app = await startApp(t, engine, { sandbox: true, environment: { SMTP_URL: own.url } })
    const { token } = await app.register()
    const body = { to: 'ada@example.com', subject: 'Hello', body: 'Hi' }
    assert.equal((await app.request('POST', '/messaging/email', { token, body })).status, 200)
    assert.ok(own.received.some(({ to }) => to.includes('ada@example.com')))
    assert.deepEqual((await app.request('GET', '/sandbox/api/mail')).body.messages, [])
    const { mail } = await stateOf(app)
    const bounce = await app.request('POST', '/messaging/email/bounce', {
      headers: { authorization: `Bearer ${mail.variables.MAIL_BOUNCE_SECRET}` },
      body: { messageId: '<a@example.com>' },
    })
    assert.equal(bounce.body.error.code, 'PROVIDER_NOT_CONFIGURED')
  })

  test('MAIL_FROM and labels alone end no stand-in', async (t) => {
    const environment = { MAIL_FROM: 'shop@example.com', IDPA_LABEL: 'A', IDPB_LABEL: 'B' }
    const app = await startApp(t, engine, { sandbox: true, environment })
    const { mail, idpa, idpb, phone } = await stateOf(app)
    assert.deepEqual(
      [mail, idpa, idpb, phone].map(({ inUse }) => inUse),
      [true, true, true, true],
    )
  })

  test('the mail stand-in accepts mail, and its port is free after the end', async (t) => {
    const app = await startApp(t, engine, { sandbox: true })
    const { mail } = await stateOf(app)
    const mailer = createTransport(mail.variables.SMTP_URL)
    await mailer.sendMail({ from: mail.from, to: 'ada@example.com', text: 'Hi' })
    mailer.close()
    await app.stop()
    assert.equal(await isOpen(mail.variables.SMTP_URL), false)
  })

  test('docs/sandbox.md lists the routes of the stand-ins of providers', async (t) => {
    const { app } = await startApp(t, engine)
    const server = Fastify()
    t.after(() => server.close())
    const routes: string[] = []
    server.addHook('onRoute', ({ method, url }) => {
      if (
        method !== 'HEAD' &&
        !/^\/sandbox(?:$|\/(?:api|app|receiver|authenticator|(?:\w+\/)?page)\b)/.test(url)
      )
        routes.push(`${String(method)} ${url.replace(/\/AC[0-9a-f]{32}/, '/:account')}`)
    })
    const { db, settings } = app
    const jobs = createJobs({ db, clock: systemClock, log: server.log })
    await server.register(createSandbox({ db, settings, jobs, clock: systemClock, log: server.log }).plugin, {
      prefix: '/sandbox',
    })
    await server.ready()
    const page = await readFile(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
    const [, listed = ''] = /<!-- routes -->\n```text\n([^]*?)\n```/.exec(page) ?? []
    assert.equal(listed, routes.toSorted(byPath).join('\n'))
  })

  test('stand-ins of two chains are opened one by one, each only if nothing configures its chain', async (t) => {
    const folder = await temporaryFolder(t)
    const environment = { DATABASE_URL: await engine.migratedUrl(), DATA_DIR: folder, LOG_LEVEL: 'silent' }
    const app = await createApp({ environment, folder, standIns: false })
    t.after(() => app.close())
    const chains = defineWire({
      name: 'chains',
      options: Type.Object({
        chains: Type.Record(Type.String(), Type.Object({ rpcUrls: Type.Array(Type.String()) }), {
          default: {},
        }),
      }),
      providers: { 'chains.*': { instances: ['ethereum', 'base'], env: { '*_RPC_URL': 'rpcUrls' } } },
      setup: () => ({ routes: [], service: undefined }),
    })()
    /** A node of a chain that listens, and knows its port only then. */
    const createNode = (name: string, opened: string[]) => (): StandIn => {
      const server = createServer()
      let port = 0
      return {
        name,
        takesFaults: false,
        describe: () => ({ [`${name.toUpperCase()}_RPC_URL`]: `http://127.0.0.1:${port}` }),
        async open() {
          opened.push(name)
          server.listen(0, '127.0.0.1')
          await once(server, 'listening')
          port = (server.address() as { port: number }).port
        },
        routes: async () => undefined,
        state: async () => ({}),
        reset: async () => undefined,
        close: async () => void server.close(),
      }
    }
    for (const [configured, expected] of [
      [{}, ['ethereum', 'base']],
      [{ ETHEREUM_RPC_URL: 'https://mainnet' }, ['base']],
      [{ BASE_RPC_URL: 'https://base' }, ['ethereum']],
      [{ ETHEREUM_RPC_URL: 'https://mainnet', BASE_RPC_URL: 'https://base' }, []],
    ] as [Record<string, string>, string[]][]) {
      const opened: string[] = []
      const { log } = app.server.engine
      const sandbox = createSandbox(
        {
          db: app.db,
          clock: systemClock,
          jobs: createJobs({ db: app.db, clock: systemClock, log }),
          settings: app.settings,
          log,
        },
        { creators: [createNode('ethereum', opened), createNode('base', opened)] },
      )
      assert.deepEqual(sandbox.variables, {}, 'nothing is open before')
      await sandbox.open(unconfiguredVariables([chains], configured))
      assert.deepEqual(opened, expected)
      const options = checkOptions([chains], configured, sandbox.variables).get(chains) as Json
      for (const name of ['ethereum', 'base']) {
        const [url] = options.chains[name].rpcUrls as [string]
        assert.equal(url, configured[`${name.toUpperCase()}_RPC_URL`] ?? url)
        assert.equal(url.startsWith('http://127.0.0.1:'), expected.includes(name))
        assert.doesNotMatch(url, /:0$/, 'the port is the one that it listens on')
      }
      await sandbox.close()
    }
  })
})

test('a port is the same for the same secret, database and purpose, and another one for any other', () => {
  const settings = { secret: 'a', databaseUrl: 'sqlite:a.db' }
  const port = stablePort(settings, 'mail')
  assert.equal(stablePort({ ...settings }, 'mail'), port)
  const others = [
    stablePort(settings, 'ethereum'),
    stablePort({ ...settings, secret: 'b' }, 'mail'),
    stablePort({ ...settings, databaseUrl: 'sqlite:b.db' }, 'mail'),
  ]
  assert.equal(new Set([port, ...others]).size, 4)
  for (const one of [port, ...others]) assert.ok(one >= 20_000 && one < 32_000)
})
