// The issuers of the sandbox for `auth.providers`, used by the production adapters.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { before, describe, test } from 'node:test'

import { apple, microsoft, oidc } from '../../../server/src/index.ts'
import { startApp, type TestApp } from '../../../server/src/testing/app.ts'
import { createBrowser } from '../../../server/src/testing/browser.ts'
import { endOfSuite, someEngine } from '../../../server/src/testing/engines.ts'
import { freePort } from '../../../server/src/testing/free-port.ts'
import { personOf } from '../../../server/src/testing/provider-login.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const CLIENT = { clientId: 'sandbox', clientSecret: 'sandbox' }
const TENANT = '11111111-aaaa-4bbb-8ccc-222222222222'

someEngine((engine) => {
  describe('the issuers of the sandbox for auth.providers', () => {
    const ending = endOfSuite()
    let app: TestApp
    let base: string
    before(async () => {
      const port = await freePort()
      base = `http://localhost:${port}/sandbox`
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
      const ids = { clientId: 'sandbox', teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey: key }
      app = await startApp(ending, engine, {
        sandbox: true,
        environment: { PORT: String(port) },
        config: {
          auth: {
            providers: {
              company: oidc({ issuer: `${base}/company`, ...CLIENT }),
              apple: apple({ ...ids, issuer: `${base}/apple` }),
              work: microsoft({ tenant: 'organizations', ...CLIENT, authority: `${base}/microsoft` }),
              tenant: microsoft({ tenant: TENANT, ...CLIENT, authority: `${base}/microsoft` }),
            },
          },
        },
      })
    })

    /** Chooses a person on the page of the issuer, and sends the form with which it returns, if it does so. */
    async function signIn(name: string, person: string) {
      const browser = createBrowser()
      const page = await browser.visit(`${app.app.settings.publicUrl}/auth/providers/${name}`)
      assert.match(page.text, /Choose who you are/)
      const returned = await browser.submit(page.url.href, { person })
      const action = /<form method="post" action="([^"]+)"/.exec(returned.text)?.[1]
      if (action === undefined) return returned
      const fields = [...returned.text.matchAll(/name="(\w+)" value="([^"]*)"/g)]
      return browser.submit(
        action,
        Object.fromEntries(fields.map(([, field, value]) => [field, value!.replaceAll('&quot;', '"')])),
      )
    }

    test('sign their people in as the real ones do', async () => {
      const people = []
      for (const name of ['company', 'apple', 'work', 'tenant'])
        people.push(await personOf(app, await signIn(name, 'ada@example.com')))
      assert.deepEqual(
        [people[0]!.email, people[0]!.emailVerified, people[0]!.name],
        ['ada@example.com', true, 'Ada Lovelace'],
      )
      // All of them have verified her address.
      assert.deepEqual(new Set(people.map(({ _id }) => _id)), new Set([people[0]!._id]))
    })

    test('tell the name of a new person, as Apple does beside the token', async () => {
      const { name, email } = await personOf(app, await signIn('apple', 'grace@example.com'))
      assert.deepEqual([name, email], ['Grace Hopper', 'grace@example.com'])
    })

    test('have verified no address of a person whose is not', async () => {
      const first = await personOf(app, await signIn('work', 'mallory@example.com'))
      assert.equal(first.emailVerified, false)
      for (const name of ['tenant', 'apple', 'company'])
        assert.deepEqual((await signIn(name, 'mallory@example.com')).fragment, { error: 'account_exists' })
    })

    test('are shown with their addresses and credentials', async () => {
      const { body } = await app.request('GET', '/sandbox/api')
      for (const name of ['company', 'apple', 'microsoft']) {
        const { address, clientId, clientSecret, redirectUri } = body[name]
        assert.deepEqual(
          { address, clientId, clientSecret, redirectUri },
          {
            address: `${base}/${name}`,
            ...CLIENT,
            redirectUri: `${app.app.settings.publicUrl}/auth/providers/…/callback`,
          },
        )
      }
    })

    test('answer to no other application', async () => {
      const query = (redirectUri: string) =>
        new URLSearchParams({
          client_id: 'sandbox',
          redirect_uri: redirectUri,
          response_type: 'code',
        }).toString()
      for (const redirectUri of [
        'https://evil.example/auth/providers/company/callback',
        `${app.app.settings.publicUrl}/auth/providers/a/b/callback`,
        `${app.app.settings.publicUrl}/auth/providers/company/callback/x`,
      ]) {
        const { status, text } = await app.request('GET', `/sandbox/company/authorize?${query(redirectUri)}`)
        assert.equal(status, 400)
        assert.match(text, /this application is registered with/)
      }
    })
  })
})
