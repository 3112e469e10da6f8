import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import * as client from 'openid-client'

import { sql } from '../../../server/src/db/sql.ts'
import { startApp, type TestApp } from '../../../server/src/testing/app.ts'
import { appForAll } from '../../../server/src/testing/auth.ts'
import { someEngine, type Ending, type Engine } from '../../../server/src/testing/engines.ts'

type Variables = { IDPA_ISSUER: string; IDPA_CLIENT_ID: string; IDPA_CLIENT_SECRET: string }

const TEN_MINUTES = 600_000

const variablesOf = async (app: TestApp): Promise<Variables> =>
  (await app.request('GET', '/sandbox/api')).body.idpa.variables

const callbackOf = (app: TestApp) => `${app.app.settings.publicUrl}/auth/idpa/callback`

/** What a production adapter does: everything by discovery, and the ID token's signature checked. */
async function discover(app: TestApp, { secret, auth }: { secret?: string; auth?: client.ClientAuth } = {}) {
  const { IDPA_ISSUER, IDPA_CLIENT_ID, IDPA_CLIENT_SECRET } = await variablesOf(app)
  const config = await client.discovery(
    new URL(IDPA_ISSUER),
    IDPA_CLIENT_ID,
    secret ?? IDPA_CLIENT_SECRET,
    auth,
    // oxlint-disable-next-line typescript/no-deprecated -- marked so only to be noticed; this server is local
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
  )
  return config
}

type Started = {
  url: string
  checks: client.AuthorizationCodeGrantChecks & { pkceCodeVerifier: string }
}

async function begin(
  app: TestApp,
  config: client.Configuration,
  more: Record<string, string> = {},
): Promise<Started> {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const expectedNonce = client.randomNonce()
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: callbackOf(app),
    scope: 'openid email profile',
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
    ...more,
  })
  return { url: url.href, checks: { pkceCodeVerifier, expectedState, expectedNonce } }
}

const approve = (app: TestApp, body: Record<string, unknown>) =>
  app.request('POST', '/sandbox/api/idpa/approve', { body })

async function approved(app: TestApp, body: Record<string, unknown>): Promise<URL> {
  const answered = await approve(app, body)
  assert.equal(answered.status, 200, answered.text)
  return new URL(answered.body.redirect)
}

/** Signs somebody in, from the first redirect to the tokens. */
async function signIn(app: TestApp, who: Record<string, unknown>, config?: client.Configuration) {
  const used = config ?? (await discover(app))
  const { url, checks } = await begin(app, used)
  return client.authorizationCodeGrant(used, await approved(app, { url, ...who }), checks)
}

const refusedAs = (error: string) => (thrown: unknown) => {
  assert.ok(thrown instanceof client.ResponseBodyError, String(thrown))
  assert.equal(thrown.error, error)
  return true
}

describe('identity provider A', () => {
  someEngine((engine) => {
    const app = appForAll(engine, { sandbox: true })

    test('signs somebody in with openid-client, and asserts who they are', async () => {
      const config = await discover(app())
      const tokens = await signIn(app(), { person: 'ada@example.com' }, config)
      const { sub, email, email_verified, name } = tokens.claims()!
      assert.deepEqual(
        { sub, email, email_verified, name },
        { sub: '100000001', email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' },
      )
      const info = await client.fetchUserInfo(config, tokens.access_token, sub)
      assert.deepEqual(info, { sub, email, email_verified: true, name: 'Ada Lovelace' })
      const again = await signIn(app(), { person: sub }, config)
      assert.equal(again.claims()!.sub, sub)
    })

    test('takes its client by the Authorization header as well', async () => {
      const { IDPA_CLIENT_SECRET } = await variablesOf(app())
      const config = await discover(app(), { auth: client.ClientSecretBasic(IDPA_CLIENT_SECRET) })
      assert.equal((await signIn(app(), { person: 'grace@example.com' }, config)).claims()!.sub, '100000002')
    })

    test('says that an address is not verified, as a boolean', async () => {
      const tokens = await signIn(app(), { person: 'mallory@example.com' })
      assert.equal(tokens.claims()!['email_verified'], false)
    })

    test('keeps somebody who was invented, under one subject', async () => {
      const invent = { name: 'Edith', email: 'edith@example.com', verified: false }
      const tokens = await signIn(app(), { invent })
      const { sub, ...claims } = tokens.claims()!
      assert.deepEqual(
        [claims['name'], claims['email'], claims['email_verified']],
        ['Edith', 'edith@example.com', false],
      )
      const later = await app().request('PATCH', `/sandbox/api/people/${sub}`, {
        body: { email: 'edith.clarke@example.com', verified: true },
      })
      assert.equal(later.status, 200)
      const again = (await signIn(app(), { person: 'edith.clarke@example.com' })).claims()!
      assert.deepEqual([again.sub, again['email_verified']], [sub, true])
    })

    test('tells only what the scope asks for', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config, { scope: 'openid' })
      const back = await approved(app(), { url, person: 'ada@example.com' })
      const tokens = await client.authorizationCodeGrant(config, back, checks)
      assert.equal('email' in tokens.claims()!, false)
      assert.deepEqual(await client.fetchUserInfo(config, tokens.access_token, '100000001'), {
        sub: '100000001',
      })
    })

    test('tells the application that somebody denied', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, deny: true })
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), { error: 'access_denied' })
    })

    test('refuses another verifier, and the code with it', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      const other = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() }
      await assert.rejects(client.authorizationCodeGrant(config, back, other), refusedAs('invalid_grant'))
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), refusedAs('invalid_grant'))
    })

    test('refuses a verifier where nobody sent a challenge, and none where somebody did', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const stripped = new URL(url)
      stripped.searchParams.delete('code_challenge')
      stripped.searchParams.delete('code_challenge_method')
      const back = await approved(app(), { url: stripped.href, person: 'ada@example.com' })
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), refusedAs('invalid_grant'))
      const { pkceCodeVerifier: _left, ...without } = checks
      const second = await approved(app(), { url, person: 'ada@example.com' })
      await assert.rejects(client.authorizationCodeGrant(config, second, without), refusedAs('invalid_grant'))
    })

    test('takes a code once, of ten at the same time too, and ends the tokens of one that comes again', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, () => client.authorizationCodeGrant(config, back, checks)),
      )
      const won = outcomes.filter(({ status }) => status === 'fulfilled')
      assert.equal(won.length, 1)
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), refusedAs('invalid_grant'))
      const { access_token } = (won[0] as PromiseFulfilledResult<client.TokenEndpointResponse>).value
      await assert.rejects(client.fetchUserInfo(config, access_token, '100000001'))
    })

    test('refuses a wrong secret, and leaves the code good', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      const wrong = await discover(app(), { secret: 'wrong' })
      await assert.rejects(client.authorizationCodeGrant(wrong, back, checks), refusedAs('invalid_client'))
      assert.ok((await client.authorizationCodeGrant(config, back, checks)).access_token)
    })

    test('sends nobody to an address that is not registered', async () => {
      const config = await discover(app())
      for (const redirect_uri of [
        'https://evil.example/callback',
        `${callbackOf(app())}/`,
        `${callbackOf(app())}?x=1`,
        callbackOf(app()).replace('localhost', 'localhost.evil.example'),
      ]) {
        const { url } = await begin(app(), config, { redirect_uri })
        const page = await fetch(url, { redirect: 'manual' })
        assert.deepEqual([page.status, page.headers.get('location')], [400, null], redirect_uri)
        assert.match(await page.text(), /is registered with/)
        assert.equal((await approve(app(), { url, person: 'ada@example.com' })).status, 400)
      }
    })

    test('wants the same redirect_uri for the code', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      const elsewhere = new URL(back)
      elsewhere.pathname = '/auth/idpb/callback'
      await assert.rejects(
        client.authorizationCodeGrant(config, elsewhere, checks),
        refusedAs('invalid_grant'),
      )
    })

    test('says what is wrong with a request by way of the application', async () => {
      const config = await discover(app())
      for (const [more, error] of [
        [{ response_type: 'token' }, 'unsupported_response_type'],
        [{ scope: 'email' }, 'invalid_scope'],
        [{ code_challenge_method: 'plain' }, 'invalid_request'],
        [{ prompt: 'none' }, 'login_required'],
        [{ response_mode: 'fragment' }, 'invalid_request'],
      ] as const) {
        const { url, checks } = await begin(app(), config, more)
        const answered = await fetch(url, { redirect: 'manual' })
        const back = new URL(answered.headers.get('location')!)
        assert.equal(back.searchParams.get('error'), error)
        assert.equal(back.searchParams.get('state'), checks.expectedState)
        assert.ok(back.href.startsWith(callbackOf(app())))
      }
      const { url } = await begin(app(), config)
      const twice = await fetch(`${url}&nonce=another`, { redirect: 'manual' })
      assert.match(twice.headers.get('location')!, /error=invalid_request/)
    })

    test('shows a page without scripts, on which nothing typed becomes HTML', async () => {
      await app().request('POST', '/sandbox/api/people', {
        body: { name: '<img src=x onerror=alert(1)>"', email: "o'brien@example.com" },
      })
      const { url } = await begin(app(), await discover(app()))
      const page = await fetch(url)
      const policy = page.headers.get('content-security-policy')!
      assert.match(policy, /default-src 'none'/)
      assert.doesNotMatch(policy, /script-src|unsafe/)
      const text = await page.text()
      assert.doesNotMatch(text, /<img|<script/)
      assert.match(text, /&lt;img src=x onerror=alert\(1\)&gt;&quot;/)
    })

    test('approves nothing that does not say who', async () => {
      const { url } = await begin(app(), await discover(app()))
      for (const [body, path] of [
        [{ person: 'ada@example.com' }, '/body/url'],
        [{ url: 'no address', deny: true }, '/body/url'],
        [{ url }, '/body'],
        [{ url, person: 'nobody@example.com' }, '/body/person'],
        [{ url, invent: { name: 'X', email: 'x' } }, '/body/invent/email'],
        [{ url, invent: { name: 'X', email: 'x@example.com', verified: 'yes' } }, '/body/invent/verified'],
      ] as const) {
        const answered = await approve(app(), body)
        assert.equal(answered.status, 400)
        assert.equal(answered.body.error.details.issues[0].path, path)
      }
    })

    test('knows its key, its people, codes and tokens after a restart', async (t) => {
      const { first, second } = restarts(t, engine)
      const before = await first()
      const config = await discover(before)
      const tokens = await signIn(before, { invent: { name: 'Edith', email: 'edith@example.com' } }, config)
      const { url, checks } = await begin(before, config)
      const back = await approved(before, { url, person: 'ada@example.com' })
      const jwks = (await before.request('GET', '/sandbox/idpa/jwks')).text
      const variables = await variablesOf(before)
      await before.stop()
      const after = await second()
      assert.deepEqual(await variablesOf(after), variables)
      assert.equal((await after.request('GET', '/sandbox/idpa/jwks')).text, jwks)
      assert.ok((await client.authorizationCodeGrant(config, back, checks)).access_token)
      const info = await client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub)
      assert.equal(info.email, 'edith@example.com')
      assert.deepEqual(Object.keys(JSON.parse(jwks).keys[0]).toSorted(), [
        'alg',
        'e',
        'kid',
        'kty',
        'n',
        'use',
      ])
    })

    test('makes another key where the secret is another', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const before = await startApp(t, engine, { sandbox: true, databaseUrl })
      const jwks = (await before.request('GET', '/sandbox/idpa/jwks')).text
      await before.app.db.write(sql`delete from auth_signing_keys`)
      await before.stop()
      const after = await startApp(t, engine, {
        sandbox: true,
        databaseUrl,
        environment: { SIXWIRE_SECRET: 'another secret that is long enough as well' },
      })
      assert.notEqual((await after.request('GET', '/sandbox/idpa/jwks')).text, jwks)
      assert.equal((await signIn(after, { person: 'ada@example.com' })).claims()!.sub, '100000001')
    })

    test('forgets codes after ten minutes', async () => {
      const config = await discover(app())
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      app().clock.advance(TEN_MINUTES)
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), refusedAs('invalid_grant'))
    })

    test('does what is set to go wrong: an error, a delay, and an answer that is lost', async () => {
      const config = await discover(app())
      const set = (body: object) => app().request('PUT', '/sandbox/api/faults/idpa', { body })
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })

      await set({ error: 503, times: 1 })
      await assert.rejects(client.authorizationCodeGrant(config, back, checks))
      await set({ delayMs: 300, times: 1 })
      const begun = performance.now()
      assert.ok((await client.authorizationCodeGrant(config, back, checks)).access_token)
      assert.ok(performance.now() - begun >= 290)

      const second = await begin(app(), config)
      const secondBack = await approved(app(), { url: second.url, person: 'ada@example.com' })
      await set({ loseAnswer: true, times: 1 })
      await assert.rejects(client.authorizationCodeGrant(config, secondBack, second.checks), /fetch failed/)
      // It did what it was asked: the code is used up.
      await assert.rejects(
        client.authorizationCodeGrant(config, secondBack, second.checks),
        refusedAs('invalid_grant'),
      )
    })

    test('forgets everything but its key when it is reset', async () => {
      const config = await discover(app())
      const jwks = (await app().request('GET', '/sandbox/idpa/jwks')).text
      const tokens = await signIn(app(), { invent: { email: 'edith@example.com' } }, config)
      const { url, checks } = await begin(app(), config)
      const back = await approved(app(), { url, person: 'ada@example.com' })
      assert.equal((await app().request('DELETE', '/sandbox/api')).status, 200)
      await assert.rejects(client.authorizationCodeGrant(config, back, checks), refusedAs('invalid_grant'))
      await assert.rejects(client.fetchUserInfo(config, tokens.access_token, tokens.claims()!.sub))
      const { people } = (await app().request('GET', '/sandbox/api/people')).body
      assert.deepEqual(
        people.map(({ email }: { email: string }) => email),
        ['ada@example.com', 'grace@example.com', 'mallory@example.com'],
      )
      assert.equal((await app().request('GET', '/sandbox/idpa/jwks')).text, jwks)
    })
  })
})

/** Two servers of the same application, one after the other: the same database, port and secret. */
function restarts(ending: Ending, engine: Engine) {
  const databaseUrl = engine.migratedUrl()
  let port: string | undefined
  return {
    first: async () => {
      const app = await startApp(ending, engine, { sandbox: true, databaseUrl: await databaseUrl })
      port = new URL(app.url).port
      return app
    },
    second: async () =>
      startApp(ending, engine, {
        sandbox: true,
        databaseUrl: await databaseUrl,
        environment: { PORT: port! },
      }),
  }
}
