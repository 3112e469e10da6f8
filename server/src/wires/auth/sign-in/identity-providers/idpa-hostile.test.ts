import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, test, type TestContext } from 'node:test'

import { systemClock } from '../../../../base/clock.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { startHostileIssuer, type Forgery, type HostileIssuer } from '../../../../testing/hostile-issuer.ts'
import { APP_URL, browserOf, CLIENT, NAMES, personOf, startOf } from '../../../../testing/provider-login.ts'
import { clientSecretAuth, createOpenidProvider } from './openid-connect.ts'

const HOUR = 3_600 // seconds
const now = () => Math.floor(Date.now() / 1000)

/** Everything that an ID token may not be. */
const FORGERIES: [what: string, forgery: Forgery][] = [
  ['for another audience', { claims: { aud: 'somebody-else' } }],
  ['for several, with another authorised party', { claims: { aud: [CLIENT.id, 'x'], azp: 'x' } }],
  ['without an audience', { claims: { aud: undefined } }],
  ['of another issuer', { claims: { iss: 'https://accounts.example' } }],
  ['without an issuer', { claims: { iss: undefined } }],
  ['with the nonce of another sign-in', { claims: { nonce: 'a nonce of somebody else' } }],
  ['without a nonce', { claims: { nonce: undefined } }],
  ['with an empty nonce', { claims: { nonce: '' } }],
  ['that has expired', { claims: { iat: now() - 2 * HOUR, exp: now() - HOUR } }],
  ['without an expiry', { claims: { exp: undefined } }],
  ['that is good later only', { claims: { nbf: now() + HOUR } }],
  ['without a subject', { claims: { sub: undefined } }],
  ['with an empty subject', { claims: { sub: '' } }],
  ['with null as subject', { claims: { sub: null } }],
  ['with a number as subject', { claims: { sub: 7 } }],
  ['with an object as subject', { claims: { sub: { $ne: null } } }],
  ['with U+0000 in its subject', { claims: { sub: 'some\u0000body' } }],
  ['with a subject of 256 characters', { claims: { sub: 's'.repeat(256) } }],
  ['signed with a key that was never published', { foreignKey: true }],
  ['of a key that is unknown', { foreignKey: true, kid: 'unknown' }],
  ['signed with the public key as a secret', { algorithm: 'HS256' }],
  ['not signed', { algorithm: 'none' }],
  ['that is none', { body: { id_token: 'not.a.token' } }],
  ['that is left out', { body: { id_token: undefined } }],
  ['that is an object', { body: { id_token: { sub: 'somebody' } } }],
]
const ANSWERS: [what: string, forgery: Forgery][] = [
  ['without an access token', { body: { access_token: undefined } }],
  ['with an error', { status: 400, body: { error: 'invalid_grant' } }],
  ['with status 500', { status: 500 }],
]

describe('an OpenID Connect issuer that lies', () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let issuer: HostileIssuer
    let app: TestApp
    before(async () => {
      issuer = await startHostileIssuer(ending, CLIENT.id)
      app = await startApp(ending, engine, {
        environment: {
          ...NAMES,
          IDPA_ISSUER: issuer.url,
          IDPA_CLIENT_ID: CLIENT.id,
          IDPA_CLIENT_SECRET: CLIENT.secret,
        },
      })
    })

    const signIn = (forgery: Forgery) => {
      issuer.forge(forgery)
      return browserOf(app).visit(startOf('idpa'))
    }
    const opened = () =>
      app.app.db.get(sql`
        select (select count(*) from auth_users) as users, (select count(*) from auth_sessions) as sessions`)

    async function isRefused(forgery: Forgery, what: string): Promise<void> {
      const before = await opened()
      const requestsBefore = issuer.tokenRequests()
      const page = await signIn(forgery)
      assert.equal(page.url.href, `${APP_URL}/auth/callback#error=provider_error`, what)
      // It was this answer that was refused, not something before.
      assert.equal(issuer.tokenRequests(), requestsBefore + 1, what)
      assert.deepEqual(await opened(), before, what)
    }

    test('is believed where it does not', async () => {
      const claims = { sub: 'honest', email: 'honest@example.com', email_verified: true }
      const person = await personOf(app, await signIn({ claims }))
      assert.deepEqual([person.email, person.emailVerified], ['honest@example.com', true])
      assert.equal((await personOf(app, await signIn({ claims })))._id, person._id)
    })

    for (const [what, forgery] of FORGERIES)
      test(`is refused an ID token ${what}`, async () => {
        const claims = { email: 'forged@example.com', email_verified: true, ...forgery.claims }
        await isRefused({ ...forgery, claims }, what)
      })

    test('is refused an ID token of the issuer with a slash more', () => {
      const claims = { iss: `${issuer.url}/`, email: 'slash@example.com', email_verified: true }
      return isRefused({ claims }, 'a slash more')
    })

    for (const [what, forgery] of ANSWERS)
      test(`is refused an answer ${what}`, () =>
        isRefused({ ...forgery, claims: { email: 'forged@example.com', email_verified: true } }, what))

    test('is refused every weak algorithm, also where discovery allows it', async (t) => {
      issuer.discovery({ id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] })
      t.after(() => issuer.discovery({}))
      app.clock.advance(HOUR * 1000) // what was discovered before is forgotten
      for (const algorithm of ['HS256', 'none'] as const)
        await isRefused({ algorithm, claims: { email: 'weak@example.com', email_verified: true } }, algorithm)
      app.clock.advance(HOUR * 1000)
    })

    test('verifies an address by true and by "true", and by nothing else', async () => {
      for (const [at, [said, verified]] of (
        [
          [true, true],
          ['true', true],
          [false, false],
          ['false', false],
          ['1', false],
          [1, false],
          ['yes', false],
          [[true], false],
          [null, false],
          [undefined, false],
        ] as const
      ).entries()) {
        const email = `said${at}@example.com`
        const claims = { sub: `said${at}`, email, email_verified: said }
        const person = await personOf(app, await signIn({ claims }))
        assert.deepEqual([person.email, person.emailVerified], [email, verified], JSON.stringify(said))
      }
    })

    test('joins no account by an address that it says is verified in words that we do not know', async () => {
      const { email } = await app.register('words@example.com')
      await app.app.service('auth').users.verify(email)
      for (const said of ['false', 'TRUE ', 1, {}]) {
        const page = await signIn({ claims: { sub: 'words', email, email_verified: said } })
        assert.deepEqual(page.fragment, { error: 'account_exists' })
      }
    })

    test('tells the address of the person that it signed in, not of another', async () => {
      const other = { sub: 'another', email: 'another@example.com', email_verified: true }
      await isRefused({ claims: { sub: 'me' }, userinfo: other }, 'user info of another subject')
      const mine = { sub: 'me', email: 'me@example.com', email_verified: 'true' }
      const person = await personOf(app, await signIn({ claims: { sub: 'me' }, userinfo: mine }))
      assert.deepEqual([person.email, person.emailVerified], ['me@example.com', true])
      // An address is verified by whoever says it.
      const split = {
        claims: { sub: 'split', email: 'split@example.com' },
        userinfo: { ...mine, sub: 'split' },
      }
      assert.equal((await personOf(app, await signIn(split))).emailVerified, false)
    })

    test('gives names that can be kept, whatever it says', async () => {
      const long = '\u{1f600}'.repeat(150)
      for (const [at, [said, kept]] of (
        [
          [' Ada\u0000 L\novelace ', 'Ada  L ovelace'],
          [`x${long}`, `x${long.slice(0, 198)}`],
          [' \u0000 ', undefined],
          [{ first: 'Ada' }, undefined],
          ['\ud800', undefined],
        ] as const
      ).entries()) {
        const claims = { sub: `name${at}`, email: `name${at}@example.com`, email_verified: true, name: said }
        assert.equal((await personOf(app, await signIn({ claims }))).name, kept)
      }
    })

    test('leaves what it was sent, and what it answered, out of the log', async () => {
      for (const [what, forgery] of [...FORGERIES, ...ANSWERS]) {
        await signIn(forgery)
        assert.match(app.log(), /"provider":"idpa","reason":"[^"]+"/, what)
      }
      await signIn({
        status: 400,
        body: { error: `not a word ${CLIENT.secret}`, error_description: CLIENT.secret },
      })
      for (const secret of [CLIENT.secret, ...issuer.given])
        assert.equal(app.log().includes(secret), false, secret)
    })
  })
})

/** A provider whose server does as it is told. */
async function providerAt(t: TestContext, listener: RequestListener, timeoutMs = 10_000) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const issuer = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const provider = createOpenidProvider(
    { clock: systemClock },
    {
      name: 'idpa',
      label: 'Test',
      issuer,
      clientId: CLIENT.id,
      clientAuth: clientSecretAuth(CLIENT.secret),
      scopes: ['email'],
      timeoutMs,
    },
  )
  return { issuer, start: () => provider.start(ATTEMPT) }
}
const ATTEMPT = {
  redirectUri: 'https://api.example/auth/idpa/callback',
  state: 'state',
  nonce: 'nonce',
  codeVerifier: 'verifier',
  codeChallenge: 'challenge',
}

describe('the discovery of an issuer', () => {
  test('ends if no answer comes in time, or only the beginning of one', async (t) => {
    const isLate = ({ cause }: Error): boolean => /has not answered for/.test(String(cause))
    const silent = await providerAt(t, () => undefined, 200)
    await assert.rejects(silent.start(), isLate)
    const slow = await providerAt(
      t,
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      200,
    )
    await assert.rejects(slow.start(), isLate)
  })

  test('takes no endless answer, no redirect, and no other issuer', async (t) => {
    const endless = await providerAt(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('"'.padEnd(2_000_000, 'x'))
    })
    await assert.rejects(endless.start())
    let followed = 0
    const moved = await providerAt(t, (request, response) => {
      if (request.url === '/elsewhere') followed++
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    await assert.rejects(moved.start())
    assert.equal(followed, 0)
    const other = await providerAt(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ issuer: 'https://accounts.example', authorization_endpoint: 'https://x.example' }),
      )
    })
    await assert.rejects(other.start(), /issuer/)
  })
})
