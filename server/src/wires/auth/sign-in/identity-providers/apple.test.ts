// Sign in with Apple, at an issuer that does what Apple's does and others do not.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { jwtVerify, type JWTVerifyResult } from 'jose'
import type { Request } from 'playwright-core'

import { apple } from './apple.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import type { BrowserPage } from '../../../../testing/browser.ts'
import { launchChromium, withoutChromium } from '../../../../testing/chromium.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { freePort } from '../../../../testing/free-port.ts'
import { startOidcIssuer, type OidcIssuer } from '../../../../testing/oidc-issuer.ts'
import { browserOf, callbackOf, NAMES, personOf, startOf } from '../../../../testing/provider-login.ts'

const APPLE = 'providers/apple'
const CLIENT_ID = 'com.example.shop.web'
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' })

/** The fields of the form that the page of an issuer sends by itself. */
const fieldsOf = ({ text }: BrowserPage): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )

someEngine((engine) => {
  describe('Sign in with Apple', () => {
    const ending = endOfSuite()
    let app: TestApp
    let issuer: OidcIssuer
    const secrets: JWTVerifyResult[] = []
    before(async () => {
      issuer = await startOidcIssuer(ending, {
        redirectUris: [callbackOf(APPLE)],
        clientId: CLIENT_ID,
        claimsInIdToken: true,
        async acceptsSecret(secret) {
          const verified = await jwtVerify(secret, publicKey, { issuer: 'TEAM123456', audience: issuer.url })
          secrets.push(verified)
          return verified.payload.sub === CLIENT_ID
        },
      })
      const option = { clientId: CLIENT_ID, teamId: 'TEAM123456', keyId: 'KEY1234567', issuer: issuer.url }
      app = await startApp(ending, engine, {
        environment: NAMES,
        // As it is in a variable of an environment.
        config: {
          auth: { providers: { apple: apple({ ...option, privateKey: PEM.replaceAll('\n', '\\n') }) } },
        },
      })
    })

    async function signIn(who: string, user?: unknown) {
      const browser = browserOf(app)
      const page = await issuer.consent(browser, await browser.visit(startOf(APPLE)), who)
      assert.match(page.text, new RegExp(`<form method="post" action="${callbackOf(APPLE)}">`))
      const sent: Record<string, string> =
        user === undefined ? {} : { user: typeof user === 'string' ? user : JSON.stringify(user) }
      return browser.submit(callbackOf(APPLE), { ...fieldsOf(page), ...sent })
    }

    test('returns by a form, with a secret that the key of the team signs for each call', async () => {
      issuer.people.set('ada', { email: 'x7@privaterelay.appleid.com', email_verified: 'true' })
      const person = await personOf(
        app,
        await signIn('ada', { name: { firstName: 'Ada', lastName: 'Lovelace' } }),
      )
      assert.deepEqual(
        [person.email, person.emailVerified, person.name],
        ['x7@privaterelay.appleid.com', true, 'Ada Lovelace'],
      )
      const { protectedHeader, payload } = secrets.at(-1)!
      assert.deepEqual(protectedHeader, { alg: 'ES256', kid: 'KEY1234567' })
      assert.equal(payload.exp! - payload.iat!, 300)

      // Later without the name, which stays.
      app.clock.advance(1000)
      const again = await personOf(app, await signIn('ada'))
      assert.deepEqual([again._id, again.name], [person._id, 'Ada Lovelace'])
      assert.equal(secrets.at(-1)!.payload.iat! > payload.iat!, true)
    })

    test('takes nothing but a name from what is not signed', async () => {
      issuer.people.set('unsure', { email: 'unsure@example.com', email_verified: 'false' })
      const user = {
        name: { firstName: ' Una\u0000\n', lastName: { $ne: null } },
        email: 'ada@example.com',
        email_verified: true,
        sub: 'ada',
      }
      const person = await personOf(app, await signIn('unsure', user))
      assert.deepEqual(
        [person.email, person.emailVerified, person.name],
        ['unsure@example.com', false, 'Una'],
      )
    })

    test('signs in also if what is not signed cannot be read', async () => {
      for (const [at, user] of ['', 'null', '[]', '{', '{"name":null}', '{"name":"x"}', '7'].entries()) {
        issuer.people.set(`odd${at}`, { email: `odd${at}@example.com`, email_verified: 'true' })
        assert.equal((await personOf(app, await signIn(`odd${at}`, user))).name, undefined, user)
      }
    })

    test('says so if the person cancels, in the word of Apple', async () => {
      const browser = browserOf(app)
      const started = await browser.step(startOf(APPLE))
      const state = new URL(started.headers.get('location')!).searchParams.get('state')!
      const page = await browser.submit(callbackOf(APPLE), { state, error: 'user_cancelled_authorize' })
      assert.deepEqual(page.fragment, { error: 'access_denied' })
    })

    test(
      'returns to the browser that started, though a form of another site has no cookie',
      {
        skip: withoutChromium,
      },
      async (t) => {
        const port = await freePort()
        // Another site than the issuer's, which is at 127.0.0.1.
        const publicUrl = `http://localhost:${port}`
        const elsewhere = await startOidcIssuer(t, {
          redirectUris: [`${publicUrl}/auth/${APPLE}/callback`],
          clientId: CLIENT_ID,
          claimsInIdToken: true,
          acceptsSecret: async () => true,
        })
        elsewhere.people.set('ada', { email: 'ada@example.com', email_verified: 'true' })
        const ids = { clientId: CLIENT_ID, teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey: PEM }
        await startApp(t, engine, {
          environment: { PORT: String(port), PUBLIC_URL: publicUrl, APP_URL: publicUrl },
          config: { auth: { providers: { apple: apple({ ...ids, issuer: elsewhere.url }) } } },
        })
        const context = await (await launchChromium()).newContext()
        t.after(() => context.close())
        const page = await context.newPage()
        const requests: Request[] = []
        page.on('request', (request) => {
          if (request.url().includes(`/auth/${APPLE}/callback`)) requests.push(request)
        })
        await page.goto(`${publicUrl}/auth/${APPLE}`)
        await page.fill('[name=login]', 'ada')
        await page.fill('[name=password]', 'any')
        await page.click('[type=submit]')
        await page.click('[type=submit]')
        await page.waitForURL(`${publicUrl}/auth/callback#**`)
        assert.match(page.url(), /#token=[^&]+&refreshToken=/)
        const cookies = requests.map(async (request) => {
          const { cookie } = await request.allHeaders()
          return [request.method(), cookie !== undefined]
        })
        assert.deepEqual(await Promise.all(cookies), [
          ['POST', false],
          ['GET', true],
        ])
      },
    )
  })
})
