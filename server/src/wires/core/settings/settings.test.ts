// Settings that administrators change while the server runs, through HTTP: with a real mail server, on two replicas.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { sql } from '../../../db/sql.ts'
import { Type } from '../../../base/schema.ts'
import { route } from '../../../http/route.ts'
import { defineWire } from '../../../kernel/wire/wire.ts'
import { insertVersionSql } from '../../../kernel/settings/stored-settings.ts'
import { as, auditOf, codeOf, registerAs, type TestPerson } from '../../../testing/administration.ts'
import { startApp, type StartOptions, type TestApp } from '../../../testing/app.ts'
import { startReplicas } from '../../../testing/auth.ts'
import { runHere } from '../../../testing/command.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startOidcIssuer } from '../../../testing/oidc-issuer.ts'
import { oidc } from '../../../index.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { startReceiver } from '../../../testing/webhook-receiver.ts'
import { TEST_SECRET } from '../../../testing/templates.ts'
import { until } from '../../../testing/until.ts'

const PASSWORD = 'a-secret-password'
const CLIENT = { clientId: 'shop', clientSecret: PASSWORD }
const VERSION = { changed: [], createdAt: 0, createdBy: 'an earlier version' }

type Option = { option: string; value: unknown; source: string; lockedBy?: string; isSecret: boolean }

const settingsOf = async (app: TestApp, admin: TestPerson) =>
  (await as(app, admin, 'GET /core/settings')).body

async function optionOf(app: TestApp, admin: TestPerson, option: string): Promise<Option> {
  const { options } = await settingsOf(app, admin)
  return options.find((one: Option) => one.option === option)
}

const change = (
  app: TestApp,
  admin: TestPerson,
  version: number,
  values: Record<string, unknown>,
  query = '',
) => as(app, admin, `PATCH /core/settings${query}`, { version, values })

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A wire with a call that lasts until the test ends it. */
function slowWire() {
  const begun = Promise.withResolvers<void>()
  const mayEnd = Promise.withResolvers<void>()
  const slow = defineWire({
    name: 'slow',
    setup: ({ db, settings }) => ({
      service: undefined,
      routes: [
        route(
          'GET /slow',
          {
            summary: 'Takes its time',
            access: 'public',
            reply: { 200: Type.Object({ name: Type.String() }) },
          },
          async () => {
            begun.resolve()
            await mayEnd.promise
            await db.ping()
            return { name: settings.name }
          },
        ),
      ] as const,
    }),
  })
  return { slow, begun: begun.promise, end: () => mayEnd.resolve() }
}

eachEngine((engine) => {
  const started = async (t: Parameters<typeof startApp>[0], options: StartOptions = {}) => {
    const app = await startApp(t, engine, options)
    return { app, admin: await registerAs(app, 'admin') }
  }

  describe('settings that are changed while the server runs', () => {
    test('a mail server is tried, stored encrypted, and sends on every replica; its password is never answered', async (t) => {
      const mails = await startMailServer(t, { accounts: { shop: PASSWORD } })
      const [one, other] = await startReplicas(t, engine)
      const admin = await registerAs(one, 'admin')
      const url = (password: string) => `smtp://shop:${password}@127.0.0.1:${mails.port}`
      const mail = { to: 'ada@example.com', subject: 'Hello', body: 'Hello' }
      assert.equal((await as(one, admin, 'POST /messaging/email', mail)).status, 400, 'nothing is configured')

      const values = { 'messaging.smtp.url': url('wrong'), 'messaging.smtp.from': 'Shop <shop@example.com>' }
      const refused = await change(one, admin, 0, values)
      assert.deepEqual([refused.status, codeOf(refused)], [409, 'SETTINGS_REFUSED'])
      assert.match(refused.body.error.details.checks[0].check, /^messaging: email by smtp/)
      assert.equal((await settingsOf(one, admin)).version, 0, 'nothing is stored')

      const done = await change(one, admin, 0, { ...values, 'messaging.smtp.url': url(PASSWORD) })
      assert.equal(done.status, 200, done.text)
      assert.deepEqual([done.body.version, done.body.inForce], [1, true])
      const option = await optionOf(one, admin, 'messaging.smtp.url')
      assert.deepEqual([option.value, option.source], [`smtp://***@127.0.0.1:${mails.port}`, 'console'])
      const sent = await as(one, admin, 'POST /messaging/email', mail)
      assert.equal(sent.status, 200, sent.text)
      assert.equal((await mails.mailTo('ada@example.com')).parsed.from?.address, 'shop@example.com')

      one.clock.advance(2_000)
      await until(async () => (await settingsOf(other, admin)).inForce)
      await as(other, admin, 'POST /messaging/email', { ...mail, to: 'bob@example.com' })
      await mails.mailTo('bob@example.com')

      const [row] = await one.app.db.all(sql<{ options: string }>`select options from sixwire_settings`)
      const [entry] = await auditOf(one, admin, 'settings:1', 'settings.*')
      for (const text of [row!.options, JSON.stringify(entry), done.text, one.log()])
        assert.ok(!text.includes(PASSWORD))
      assert.deepEqual(entry!.before, { 'messaging.smtp.url': null, 'messaging.smtp.from': null })
    })

    test('no request is refused meanwhile, and one that runs ends under the settings that it began with', async (t) => {
      const { slow, begun, end } = slowWire()
      const { app, admin } = await started(t, { config: { wires: [slow()] } })
      const before = (await app.request('GET', '/info')).body.name
      const running = app.request('GET', '/slow')
      await begun
      let isOver = false
      const statuses = new Map<number, number>()
      const asking = (async () => {
        while (!isOver) {
          const { status } = await app.request('GET', '/info')
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      })()
      const collected = async () => {
        const { text } = await app.request('GET', '/metrics')
        return [...text.matchAll(/^nodejs_gc_duration_seconds_count.* (\d+)$/gm)].reduce(
          (sum, [, count]) => sum + Number(count),
          0,
        )
      }
      await until(async () => {
        collectGarbage()
        return (await collected()) > 0
      })
      for (let version = 0; version < 5; version++)
        assert.equal((await change(app, admin, version, { name: `Shop ${version}` })).status, 200)
      assert.ok(
        (await collected()) > 0,
        'what watches the process is not made anew, and kept, for each change',
      )
      isOver = true
      await asking
      assert.deepEqual([...statuses.keys()], [200])
      assert.equal((await app.request('GET', '/info')).body.name, 'Shop 4')
      end()
      assert.deepEqual((await running).body, { name: before })
    })

    test('what keeps the next server from starting is stored and said; the one before goes on, and is replaced once', async (t) => {
      const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      t.after(() => mayEnd.resolve())
      let setups = 0
      const strict = defineWire({
        name: 'strict',
        setup: ({ settings }) => {
          setups++
          return {
            service: undefined,
            routes: [
              route(
                'GET /strict',
                { summary: 'Takes its time', access: 'public', reply: { 200: Type.Object({}) } },
                async () => {
                  begun.resolve()
                  await mayEnd.promise
                  return {}
                },
              ),
            ] as const,
            async start() {
              if (settings.name === 'Broken') throw new Error('there is no such shop')
            },
          }
        },
      })
      const { app, admin } = await started(t, { config: { wires: [strict()] } })
      const running = app.request('GET', '/strict')
      await begun.promise
      const broken = await change(app, admin, 0, { name: 'Broken' })
      assert.deepEqual([broken.status, broken.body], [200, { version: 1, inForce: false }])
      const { version, inForce, fault } = await settingsOf(app, admin)
      assert.deepEqual([version, inForce, fault], [1, false, 'there is no such shop'])

      assert.deepEqual((await change(app, admin, 1, { name: 'Good' })).body, { version: 2, inForce: true })
      assert.equal((await settingsOf(app, admin)).fault, undefined)
      // The server before waits for its request, and sees every other second that there are newer settings.
      const before = setups
      for (let beat = 0; beat < 3; beat++) {
        app.clock.advance(2_000)
        for (let read = 0; read < 5; read++) await settingsOf(app, admin)
      }
      mayEnd.resolve()
      assert.equal((await running).status, 200)
      await app.stop()
      assert.equal(setups, before)
    })

    test('what the environment or the file sets is locked, and a provider as a whole', async (t) => {
      const { app, admin } = await started(t, {
        environment: {
          APP_URL: 'https://shop.example',
          STRIPE_SECRET_KEY: 'sk_test_1',
          PAYPAL_API_BASE: 'http://127.0.0.1:1',
          TWILIO_API_BASE: 'http://127.0.0.1:1',
        },
        config: { auth: { registration: 'open' } },
      })
      for (const [option, by] of [
        ['appUrl', 'APP_URL'],
        ['auth.registration', 'sixwire.config.ts'],
        ['pay.stripe.secretKey', 'STRIPE_SECRET_KEY'],
        ['pay.stripe.webhookSecret', 'STRIPE_SECRET_KEY'],
      ] as const) {
        assert.equal((await optionOf(app, admin, option)).lockedBy, by)
        const refused = await change(app, admin, 0, { [option]: 'whsec_1' })
        assert.equal(refused.status, 400)
        assert.equal(refused.body.error.details.issues[0].message, `it is set by ${by}: change it there`)
      }
      // An address alone leaves the rest of its provider to the console.
      for (const option of ['pay.paypal.clientId', 'messaging.twilio.authToken'])
        assert.equal((await optionOf(app, admin, option)).lockedBy, undefined)
    })

    test('what cannot work is refused at its option', async (t) => {
      const { app, admin } = await started(t)
      for (const [values, path, message] of [
        [{ 'auth.registration': 'maybe' }, 'auth.registration', /must be/],
        [{ 'store.uploadLimit': 'much' }, 'store.uploadLimit', /pattern/],
        [{ 'store.uploadLimit': '6TB' }, 'store.uploadLimit', /^must be at most 5TB$/],
        [{ 'store.uploadLimit': '0' }, 'store.uploadLimit', /^must be at least 1 byte$/],
        [{ 'store.backups.every': '9999d' }, 'store.backups.every', /^must be at most 366d$/],
        [{ 'onchain.stuckSeconds': 1e9 }, 'onchain.stuckSeconds', /must be <= 86400/],
        [{ 'messaging.smtp.url': 'mail.example' }, 'messaging.smtp.url', /smtp/],
        [{ publicUrl: 'shop' }, 'publicUrl', /address/],
        [{ name: 'x'.repeat(101) }, 'name', /more than 100/],
        [{ name: 'Shop\r\nBcc: eve@example.com' }, 'name', /pattern/],
        [{ auditDays: true }, 'auditDays', /integer/],
        [{ origins: { a: 1 } }, 'origins', /array/],
        [{ 'messaging.smtp.from': 'x'.repeat(20_000) }, 'messaging.smtp.from', /more than 20000/],
        [
          { 'onchain.chains.base.rpcUrls': ['https://base.example/v2/***'] },
          'onchain.chains.base.rpcUrls',
          /write the whole value/,
        ],
        [{ 'auth.sessionSeconds': 1e300 }, 'auth.sessionSeconds', /must be <=/],
        [{ databaseUrl: 'sqlite:x.db' }, 'databaseUrl', /no such option/],
        [{ 'store.collections': {} }, 'store.collections', /no such option/],
        [{ toString: 1 }, 'toString', /no such option/],
      ] as const) {
        const refused = await change(app, admin, 0, values)
        assert.equal(refused.status, 400, refused.text)
        const [issue] = refused.body.error.details.issues
        assert.equal(issue.path, `/body/values/${path}`)
        assert.match(issue.message, message)
      }
      assert.equal((await settingsOf(app, admin)).version, 0)
    })

    test('a secret is not sent to another address that its owner did not set', async (t) => {
      const { app, admin } = await started(t)
      const s3 = (name: string) => `store.s3.${name}`
      const first = {
        [s3('endpoint')]: 'http://127.0.0.1:1',
        [s3('bucket')]: 'shop',
        [s3('accessKeyId')]: 'key',
        [s3('secretAccessKey')]: PASSWORD,
      }
      assert.equal(codeOf(await change(app, admin, 0, first)), 'SETTINGS_REFUSED')
      assert.equal((await change(app, admin, 0, first, '?force=true')).status, 200)
      const moved = await change(app, admin, 1, { [s3('endpoint')]: 'http://127.0.0.1:2' }, '?force=true')
      assert.equal(moved.status, 400)
      assert.equal(moved.body.error.details.issues[0].path, '/body/values/store.s3.secretAccessKey')
    })

    test('a service key needs the scopes of the wires whose options it changes', async (t) => {
      const { app, admin } = await started(t)
      const changeBy = async (scopes: string[], values: Record<string, unknown>) => {
        const { key } = (await as(app, admin, 'POST /auth/keys', { name: 'backend', scopes })).body
        const { version } = await settingsOf(app, admin)
        return (await app.request('PATCH', '/core/settings', { token: key, body: { version, values } }))
          .status
      }
      const [open, named] = [{ 'auth.registration': 'open' }, { name: 'Shop' }]
      assert.deepEqual(
        [
          await changeBy(['core'], open),
          await changeBy(['core', 'auth'], open),
          await changeBy(['core', 'auth'], named),
          await changeBy(['*'], named),
        ],
        [403, 200, 403, 200],
      )
    })

    test('an identity provider is asked who it is', async (t) => {
      const { app, admin } = await started(t)
      const idpa = (issuer: string) => ({
        'auth.idpa.issuer': issuer,
        'auth.idpa.clientId': 'shop',
        'auth.idpa.clientSecret': PASSWORD,
      })
      const refused = await change(app, admin, 0, idpa(app.url))
      assert.equal(codeOf(refused), 'SETTINGS_REFUSED')
      assert.match(refused.body.error.details.checks[0].check, /^auth: sign-in by /)
      for (const [url, why] of [
        [app.url, /^its discovery document cannot be read: the answer is HTTP 404/],
        ['http://127.0.0.1:1', /^its discovery document cannot be read: .*(?:bad port|ECONNREFUSED)/],
      ] as const)
        assert.match((await change(app, admin, 0, idpa(url))).body.error.details.checks[0].fault, why)
      const issuer = await startOidcIssuer(t, {
        redirectUris: [`${app.url}/auth/idpa/callback`],
        clientId: 'shop',
      })
      const done = await change(app, admin, 0, idpa(issuer.url))
      assert.equal(done.status, 200, done.text)
    })

    test('further identity providers are added by name, asked who they are, and sign in; one of the file is locked', async (t) => {
      const { app, admin } = await started(t, {
        config: { auth: { providers: { partner: oidc({ issuer: 'http://localhost:1', ...CLIENT }) } } },
      })
      const provider = (name: string, values: Record<string, unknown>) =>
        Object.fromEntries(
          Object.entries(values).map(([option, value]) => [`auth.providers.${name}.${option}`, value]),
        )
      const issuer = await startOidcIssuer(t, {
        redirectUris: [`${app.url}/auth/providers/company/callback`],
        clientId: CLIENT.clientId,
      })
      const values = { issuer: issuer.url, ...CLIENT }
      for (const [name, of, message] of [
        ['partner', values, /set by sixwire\.config\.ts/],
        ['company', { issuer: issuer.url, clientId: 'shop' }, /clientSecret/],
        ['__proto__', values, /no such option/],
        ['idpa', values, /this name is taken/],
      ] as const) {
        const refused = await change(app, admin, 0, provider(name, of))
        assert.deepEqual([refused.status, message.test(refused.text)], [400, true], refused.text)
      }
      const unreachable = await change(app, admin, 0, provider('company', { ...values, issuer: app.url }))
      assert.equal(codeOf(unreachable), 'SETTINGS_REFUSED')
      const done = await change(app, admin, 0, provider('company', values), '?force=true')
      assert.equal(done.status, 200, done.text)

      const inherited = await change(app, admin, 1, provider('constructor', values), '?force=true')
      assert.equal(inherited.status, 200, inherited.text)

      const { providers } = (await app.request('GET', '/auth/providers')).body
      assert.deepEqual(
        providers.map(({ name }: { name: string }) => name),
        ['partner', 'company', 'constructor'],
      )
      const begun = await app.request('GET', '/auth/providers/company?redirect=/', {})
      assert.match(begun.headers.get('location')!, new RegExp(`^${issuer.url}.*client_id=shop`))
      const secret = await optionOf(app, admin, 'auth.providers.company.clientSecret')
      assert.deepEqual([secret.value, secret.isSecret, secret.source], ['***', true, 'console'])
      assert.equal(
        (await optionOf(app, admin, 'auth.providers.partner.issuer')).lockedBy,
        'sixwire.config.ts',
      )
      const moved = await change(app, admin, 2, { 'auth.providers.company.issuer': app.url }, '?force=true')
      assert.equal(
        moved.body.error.details.issues[0].path,
        '/body/values/auth.providers.company.clientSecret',
      )
      const gone = await change(
        app,
        admin,
        2,
        provider('company', { issuer: null, clientId: null, clientSecret: null }),
        '?force=true',
      )
      assert.equal(gone.status, 200, gone.text)
      assert.equal((await app.request('GET', '/auth/providers/company')).status, 400)
    })

    test('of two administrators the second is told; versions are listed, and one is restored', async (t) => {
      const { app, admin } = await started(t)
      const [one, two] = await Promise.all([
        change(app, admin, 0, { name: 'One' }),
        change(app, admin, 0, { name: 'Two' }),
      ])
      assert.deepEqual(new Set([one.status, two.status]), new Set([200, 412]))
      const first = one.status === 200 ? 'One' : 'Two'
      await change(app, admin, 1, { name: 'Three', 'auth.registration': 'closed' })
      assert.equal((await app.request('POST', '/auth/register', { body: {} })).status, 400)
      const back = await as(app, admin, 'POST /core/settings/versions/1/restore')
      assert.equal(back.status, 200, back.text)
      assert.deepEqual(
        (await settingsOf(app, admin)).versions.map(
          ({ version, changed }: { version: number; changed: string[] }) => [version, changed.toSorted()],
        ),
        [
          [3, ['auth.registration', 'name']],
          [2, ['auth.registration', 'name']],
          [1, ['name']],
        ],
      )
      assert.equal((await app.request('GET', '/info')).body.name, first)
      assert.equal((await optionOf(app, admin, 'auth.registration')).source, 'default')
      assert.equal((await as(app, admin, 'POST /core/settings/versions/9/restore')).status, 404)
      const [entry] = await auditOf(app, admin, 'settings:3', 'settings.*')
      assert.equal(entry?.action, 'settings.changed')
      assert.equal((await change(app, admin, 3, { name: null })).status, 200)
      assert.notEqual((await app.request('GET', '/info')).body.name, first)
    })

    test('they hold after a restart, sixwire config shows and forgets them, and one that broke keeps from starting', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const { app, admin } = await started(t, { databaseUrl })
      assert.equal((await change(app, admin, 0, { name: 'Pottery' })).status, 200)
      await app.stop()
      const again = await startApp(t, engine, { databaseUrl })
      assert.equal((await again.request('GET', '/info')).body.name, 'Pottery')

      const folder = await temporaryFolder(t)
      const environment = { DATABASE_URL: databaseUrl, SIXWIRE_SECRET: TEST_SECRET, DATA_DIR: folder }
      const shown = await runHere(['config'], { folder, environment })
      assert.match(shown.output, /^name +Pottery +console/m)

      const broken = { 'auth.sessionSeconds': 0, name: 'Pottery' }
      await again.app.db.write(insertVersionSql({ ...VERSION, version: 2 }, broken, TEST_SECRET))
      await again.stop()
      await assert.rejects(
        startApp(t, engine, { databaseUrl }),
        /StartError: auth.sessionSeconds: must be >= 1 .*sixwire config --forget auth\.sessionSeconds/,
      )
      const faulty = await runHere(['config'], { folder, environment })
      assert.match(faulty.errors, /auth\.sessionSeconds: must be >= 1 .*--forget auth\.sessionSeconds/)
      const forgotten = await runHere(['config', '--forget', 'auth.sessionSeconds'], { folder, environment })
      assert.equal(forgotten.code, 0, forgotten.errors)
      const last = await startApp(t, engine, { databaseUrl })
      const [entry] = await auditOf(last, admin, 'settings:3', 'settings.*')
      assert.deepEqual([entry?.actor.kind, entry?.after], ['command', { forgotten: 'auth.sessionSeconds' }])
    })

    test('a webhook is added by its name, gets events, and is removed; its secret is not answered', async (t) => {
      const receiver = await startReceiver(t)
      const { app, admin } = await started(t)
      const webhook = { url: receiver.url, secret: receiver.secret, events: ['auth.user.created'] }
      for (const wrong of [
        { ...webhook, secret: 'short' },
        { ...webhook, events: ['auth.unknown'] },
        'text',
        {},
      ]) {
        const refused = await change(app, admin, 0, { 'webhooks.shop': wrong })
        assert.equal(refused.status, 400, refused.text)
        assert.equal(refused.body.error.details.issues[0].path, '/body/values/webhooks.shop')
      }
      assert.equal((await change(app, admin, 0, { 'webhooks.shop': webhook })).status, 200)
      const { _id } = await app.register()
      await receiver.arrived(1)
      assert.equal(receiver.events[0]!.data['_id'], _id)
      const shown = await as(app, admin, 'GET /core/settings')
      assert.ok(!shown.text.includes(receiver.secret))
      assert.deepEqual((await optionOf(app, admin, 'webhooks.shop')).value, { ...webhook, secret: '***' })
      assert.equal((await change(app, admin, 1, { 'webhooks.shop': null })).status, 200)
      assert.deepEqual((await as(app, admin, 'GET /core/webhooks')).body.webhooks, [])
    })

    test('SIXWIRE_SETTINGS=off keeps everybody from changing them', async (t) => {
      const { app, admin } = await started(t, { environment: { SIXWIRE_SETTINGS: 'off' } })
      assert.equal((await settingsOf(app, admin)).canChange, false)
      assert.equal((await change(app, admin, 0, { name: 'Shop' })).status, 403)
    })

    test('with the sandbox requests wait while it opens again, and what its chain has stays', async (t) => {
      const { app, admin } = await started(t, { sandbox: true })
      const wallet = await as(app, admin, 'POST /onchain/wallets', {})
      assert.equal(wallet.status, 201, wallet.text)
      assert.equal((await change(app, admin, 0, { name: 'Pottery' })).status, 200)
      await until(async () => (await settingsOf(app, admin)).inForce)
      assert.equal((await app.request('GET', '/info')).body.name, 'Pottery')
      assert.equal((await as(app, admin, `GET /onchain/wallets/${wallet.body._id}`)).status, 200)
    })
  })
})
