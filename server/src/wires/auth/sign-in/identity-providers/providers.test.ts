import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'

import { systemClock } from '../../../../base/clock.ts'
import { createApp } from '../../../../app.ts'
import { startApp } from '../../../../testing/app.ts'
import { createBrowser } from '../../../../testing/browser.ts'
import { stillClock } from '../../../../testing/clock.ts'
import { someEngine, temporaryFolder } from '../../../../testing/engines.ts'
import { quietQueue } from '../../../../testing/mailbox.ts'
import { startOauthServer } from '../../../../testing/oauth-server.ts'
import { startOf, callbackOf, NAMES } from '../../../../testing/provider-login.ts'
import { apple } from './apple.ts'
import { microsoft } from './microsoft.ts'
import { oidc } from './oidc.ts'
import { createProviders } from './providers.ts'

const given = { clientId: 'id', clientSecret: 'secret' }
const IDPB = {
  authorizeUrl: 'https://github.com/login/oauth/authorize',
  tokenUrl: 'https://github.com/login/oauth/access_token',
  apiUrl: 'https://api.github.com',
}
const make = (options: object, production = false) =>
  createProviders({ clock: systemClock, settings: { production } }, options)

describe('the identity providers of a configuration', () => {
  test('are those with a client id', () => {
    assert.deepEqual(make({}), [])
    assert.deepEqual(make({ idpa: { issuer: 'https://accounts.google.com' }, idpb: IDPB }), [])
    const both = make({
      idpa: { issuer: 'https://accounts.google.com', ...given },
      idpb: { ...IDPB, ...given },
    })
    assert.deepEqual(
      both.map(({ name, label }) => [name, label]),
      [
        ['idpa', 'accounts.google.com'],
        ['idpb', 'github.com'],
      ],
    )
    assert.equal(
      make({ idpa: { issuer: 'https://accounts.google.com', ...given, label: 'Google' } })[0]!.label,
      'Google',
    )
  })

  test('must be https in production, except on the machine itself', () => {
    for (const issuer of [
      'http://accounts.example',
      'http://127.0.0.1.example.com',
      'http://localhost.example',
    ])
      assert.throws(
        () => make({ idpa: { issuer, ...given } }, true),
        /^StartError: IDPA_ISSUER: .* must be https/,
      )
    for (const issuer of [
      'http://localhost:4000',
      'http://127.0.0.1:1/x',
      'http://[::1]:4000',
      'https://a.example',
    ])
      assert.equal(make({ idpa: { issuer, ...given } }, true).length, 1)
    assert.equal(make({ idpa: { issuer: 'http://accounts.example', ...given } }).length, 1)
    for (const [key, variable] of [
      ['authorizeUrl', 'IDPB_AUTHORIZE_URL'],
      ['tokenUrl', 'IDPB_TOKEN_URL'],
      ['apiUrl', 'IDPB_API_URL'],
    ] as const) {
      const idpb = { ...IDPB, ...given, [key]: 'http://api.example' }
      assert.throws(() => make({ idpb }, true), new RegExp(`^StartError: ${variable}: `))
    }
  })

  test('stop the start where they can not work', async (t) => {
    const folder = await temporaryFolder(t)
    for (const [environment, message] of [
      [{ IDPA_CLIENT_ID: 'x' }, /^StartError: IDPA_CLIENT_SECRET: not set, though a client id is: set both$/],
      [{ IDPB_CLIENT_ID: 'x' }, /^StartError: IDPB_CLIENT_SECRET: /],
      [
        { IDPA_CLIENT_ID: 'x', IDPA_CLIENT_SECRET: 'y', IDPA_ISSUER: 'accounts.example' },
        /^StartError: IDPA_ISSUER: "accounts.example" is not a URL/,
      ],
      [{ IDPA_CLIENT_ID: 'x', IDPA_CLIENT_SECRET: 'y', IDPA_ISSUER: 'ftp://a.example' }, /IDPA_ISSUER/],
    ] as const)
      await assert.rejects(
        createApp({ folder, environment: { DATA_DIR: folder, SIXWIRE_SANDBOX: 'off', ...environment } }),
        message,
      )
  })

  test('of auth.providers stop the start if anything about them is wrong, and say where', async (t) => {
    const folder = await temporaryFolder(t)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const client = { clientId: 'id', clientSecret: 'secret' }
    const issuer = 'https://login.example'
    const tenant = '11111111-aaaa-4bbb-8ccc-222222222222'
    const ids = { clientId: 'com.example', teamId: 'TEAM123456', keyId: 'KEY1234567' }
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const wrong: [providers: Record<string, unknown>, message: RegExp][] = [
      [
        { idpa: oidc({ issuer, ...client }) },
        /^auth\.providers\.idpa: this name is taken: configure auth\.idpa/,
      ],
      [
        { Company: oidc({ issuer, ...client }) },
        /^auth\.providers\.Company: "Company" can't be a name: use up to 32 lower-case letters/,
      ],
      [{ x: {} }, /^auth\.providers\.x: issuer is missing/],
      [
        { x: { kind: 'saml' } },
        /^auth\.providers\.x: it takes oidc\(\{ … \}\), apple\(\{ … \}\) or microsoft\(\{ … \}\)$/,
      ],
      [{ x: 'https://login.example' }, /^auth\.providers\.x: /],
      [{ x: null }, /^auth\.providers\.x: /],
      [
        { x: oidc({ issuer, clientId: 'id', clientSecret: undefined }) },
        /^auth\.providers\.x: clientSecret is missing: it takes a text$/,
      ],
      [{ x: oidc({ issuer, clientId: '', clientSecret: 'x' }) }, /^auth\.providers\.x: clientId can't be ""/],
      [
        { x: oidc({ issuer: 'login.example', ...client }) },
        /^auth\.providers\.x\.issuer: "login\.example" is not a URL like/,
      ],
      [
        { x: oidc({ issuer, ...client, scope: 'email' } as never) },
        /no field "scope": did you mean scopes\?$/,
      ],
      [{ x: oidc({ issuer, ...client, scopes: 'email' as never }) }, /scopes can't be "email": .* list/],
      [{ x: apple({ ...ids, privateKey: undefined }) }, /^auth\.providers\.x: privateKey is missing/],
      [
        { x: apple({ ...ids, privateKey: 'AuthKey.p8' }) },
        /^auth\.providers\.x\.privateKey: it is not the content/,
      ],
      [
        { x: apple({ ...ids, privateKey: pem }) },
        /^auth\.providers\.x\.privateKey: .* of the curve P-256 in PEM$/,
      ],
      [
        { x: microsoft({ tenant: 'contoso', ...client }) },
        /tenant can't be "contoso": it takes the id of a tenant/,
      ],
      [{ x: microsoft({ tenant: 'comon', ...client }) }, /did you mean common\?$/],
      [{ x: microsoft({ tenant: 'common', ...client, tenants: [] }) }, /tenants can't be this list/],
      [{ x: microsoft({ tenant, ...client, tenants: [tenant] }) }, /tenants needs tenant: 'common' or/],
      [
        { x: microsoft({ tenant: 'common', ...client, trustEmail: true }) },
        /trustEmail needs the id of one tenant/,
      ],
    ]
    for (const [providers, message] of wrong)
      await assert.rejects(
        createApp({
          folder,
          config: { auth: { providers: providers as never } },
          environment: { DATA_DIR: folder, SIXWIRE_SANDBOX: 'off' },
        }),
        (error: Error) => {
          assert.equal(error.name, 'StartError')
          assert.match(error.message, message)
          assert.equal(error.message.includes('\n'), false)
          return true
        },
        String(message),
      )
    for (const [provider, option] of [
      [oidc({ issuer: 'http://login.example', ...client }), 'issuer'],
      [microsoft({ tenant: 'common', ...client, authority: 'http://login.example' }), 'authority'],
    ] as const)
      assert.throws(
        () => make({ providers: { x: provider } }, true),
        new RegExp(`^StartError: auth\\.providers\\.x\\.${option}: .* must be https in production`),
      )
  })

  someEngine((engine) => {
    test('answer 400 where they are not configured, and are no way in then', async (t) => {
      const app = await startApp(t, engine)
      for (const path of [
        '/auth/idpa',
        '/auth/idpb',
        '/auth/idpa/callback?code=x&state=y',
        '/auth/idpb/callback',
      ]) {
        const { status, body } = await app.request('GET', path)
        assert.deepEqual([status, body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'], path)
      }
      const { body } = await app.request('GET', '/auth/health')
      assert.deepEqual(
        body.providers.filter((name: string) => name.startsWith('idp')),
        [],
      )
    })

    test('give their cookie to where the server is reached, and to no other host', async (t) => {
      const provider = await startOauthServer(t, callbackOf('idpb'))
      for (const [publicUrl, name, attributes] of [
        // A prefix that no other host of the domain can set asks for all of /.
        ['https://shop.example/api', '__Host-sixwire_login_', 'Path=/; HttpOnly; Secure; SameSite=Lax'],
        ['http://api.example:8080', 'sixwire_login_', 'Path=/auth; HttpOnly; SameSite=Lax'],
        ['http://api.example:8080/api', 'sixwire_login_', 'Path=/api/auth; HttpOnly; SameSite=Lax'],
      ] as const) {
        const app = await startApp(t, engine, {
          environment: { ...NAMES, ...provider.variables, PUBLIC_URL: publicUrl },
        })
        const { headers } = await app.request('GET', '/auth/idpb')
        const cookie = headers.get('set-cookie')!
        assert.ok(cookie.startsWith(name) && cookie.endsWith(`; Max-Age=600; ${attributes}`), cookie)
        const asked = new URL(headers.get('location')!)
        assert.equal(asked.searchParams.get('redirect_uri'), `${publicUrl}/auth/idpb/callback`)
      }
    })

    test('are the ones of the sandbox until the configuration says which, under the labels that it gives', async (t) => {
      const labels = { idpa: 'Our own accounts', idpb: 'The office' }
      const auth = { idpa: { label: labels.idpa }, idpb: { label: labels.idpb } }
      const app = await startApp(t, engine, { sandbox: true, config: { auth } })
      for (const [name, person] of [
        ['idpa', 'ada@example.com'],
        ['idpb', 'grace@example.com'],
      ] as const) {
        const browser = createBrowser()
        const consent = await browser.visit(`${app.app.settings.publicUrl}/auth/${name}`)
        const approval = { url: consent.url.href, person }
        const approved = await app.request('POST', `/sandbox/api/${name}/approve`, { body: approval })
        assert.ok((await browser.visit(approved.body.redirect)).fragment['token'])
        await quietQueue(app)
        const { messages } = (await app.request('GET', `/sandbox/api/mail?to=${person}`)).body
        assert.match(messages[0].text, new RegExp(labels[name]))
      }
    })

    test('are none of the sandbox once anything says which they are', async (t) => {
      for (const [environment, auth] of [
        [{ IDPA_ISSUER: 'https://a.example', IDPB_API_URL: 'https://b.example' }, {}],
        [{}, { idpa: { issuer: 'https://a.example' }, idpb: { tokenUrl: 'https://b.example', label: 'B' } }],
        [{}, { idpa: { clientSecret: 'x' }, idpb: { clientId: '' } }],
      ] as const) {
        const app = await startApp(t, engine, { sandbox: true, environment, config: { auth } })
        for (const path of ['/auth/idpa', '/auth/idpb'])
          assert.equal((await app.request('GET', path)).body.error.code, 'PROVIDER_NOT_CONFIGURED')
      }
    })

    test('that are null stop the start, with the sandbox too', async (t) => {
      for (const sandbox of [true, false])
        await assert.rejects(startApp(t, engine, { sandbox, config: { auth: { idpa: null as never } } }), {
          name: 'StartError',
          message: /^auth\.idpa\b/,
        })
    })

    test('may be asked thirty times a minute, as other ways to sign in', async (t) => {
      const provider = await startOauthServer(t, callbackOf('idpb'))
      const app = await startApp(t, engine, {
        clock: stillClock(Date.now()),
        environment: { ...NAMES, ...provider.variables, SIXWIRE_RATE_LIMITS: 'on' },
      })
      const browser = createBrowser({ [NAMES.PUBLIC_URL]: app.url })
      for (const address of [startOf('idpb'), callbackOf('idpb')]) {
        for (let i = 0; i < 30; i++) assert.equal((await browser.step(address)).status, 302)
        assert.equal((await browser.step(address)).status, 429)
      }
    })
  })
})
