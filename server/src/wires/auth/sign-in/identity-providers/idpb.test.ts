import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { me } from '../../../../testing/auth.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { startOauthServer, type OauthServer, type OAuthPerson } from '../../../../testing/oauth-server.ts'
import {
  APP_URL,
  browserOf,
  callbackOf,
  CLIENT,
  NAMES,
  personOf,
  startOf,
} from '../../../../testing/provider-login.ts'
import { addAuthenticator, finish } from '../../../../testing/second-factor.ts'

const first = (email: string, verified = true) => ({ email, primary: true, verified })
const further = (email: string, verified = true) => ({ email, primary: false, verified })

const TOKEN = '/login/oauth/access_token'

describe("sign-in through an OAuth 2 provider in GitHub's shape", () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let provider: OauthServer
    let app: TestApp
    before(async () => {
      provider = await startOauthServer(ending, callbackOf('idpb'))
      app = await startApp(ending, engine, { environment: { ...NAMES, ...provider.variables } })
    })

    const visit = (query = '', browser = browserOf(app)) => browser.visit(startOf('idpb', query))
    async function signIn(person: OAuthPerson, query = '') {
      provider.person(person)
      return visit(query)
    }
    const opened = () =>
      app.app.db.get(sql`
        select (select count(*) from auth_users) as users, (select count(*) from auth_sessions) as sessions`)

    async function isRefused(person: OAuthPerson, error: string, what: unknown = person): Promise<void> {
      const before = await opened()
      const page = await signIn(person)
      assert.equal(page.url.href, `${APP_URL}/auth/callback#error=${error}`, JSON.stringify(what))
      assert.deepEqual(await opened(), before)
    }

    test('makes a verified account of the primary address, and opens it again by the number', async () => {
      const emails = [
        further('work@example.com'),
        first('Octo@example.com'),
        further('old@example.com', false),
      ]
      const page = await signIn(
        { user: { id: 583231, login: 'octo', name: 'Octo Cat' }, emails },
        '?redirect=/cart',
      )
      assert.equal(page.fragment['redirect'], '/cart')
      const person = await personOf(app, page)
      assert.deepEqual(
        [person.email, person.emailVerified, person.name],
        ['Octo@example.com', true, 'Octo Cat'],
      )
      // The address went to somebody else since, and the login has another name.
      const renamed = {
        user: { id: 583231, login: 'octopus', name: null },
        emails: [first('moved@example.com')],
      }
      assert.equal((await personOf(app, await signIn(renamed)))._id, person._id)
      const heir = { user: { id: 583232, login: 'octo' }, emails: [first('Octo@example.com')] }
      const joined = await personOf(app, await signIn(heir))
      assert.equal(joined._id, person._id) // verified on both sides
    })

    test('takes no address that is not both primary and verified', async () => {
      const { email } = await app.register('owner@example.com')
      await app.app.service('auth').users.verify(email)
      for (const emails of [
        [first(email, false)],
        [further(email)],
        [first(email, false), further(email)],
        [{ email, primary: 'true', verified: 'true' } as never],
        [{ email } as never],
        [],
        [null as never, 'text' as never],
        404,
        403,
      ])
        await isRefused({ user: { id: 7, email }, emails }, 'email_required', emails)
    })

    test('opens a known account also while its address is not shown', async () => {
      const user = { id: 'named-by-text' }
      const { _id } = await personOf(app, await signIn({ user, emails: [first('shown@example.com')] }))
      for (const emails of [404, 403, []])
        assert.equal((await personOf(app, await signIn({ user, emails })))._id, _id)
    })

    test('knows nobody by an answer without an id', async () => {
      const emails = [first('nobody@example.com')]
      for (const user of [
        {},
        { id: null },
        { id: '' },
        { id: 0 },
        { id: -1 },
        { id: 1.5 },
        { id: 2 ** 53 },
        { id: true },
        { id: { $ne: null } },
        { id: 'a\u0000b' },
        { login: 'octo' },
        [{ id: 1 }],
        'text',
        null,
      ])
        await isRefused({ user, emails }, 'provider_error', user)
    })

    test('challenges an account with a second factor, which then finishes the sign-in', async () => {
      const careful = { user: { id: 4711 }, emails: [first('careful@example.com')] }
      const page = await signIn(careful)
      const { _id } = await personOf(app, page)
      const authenticator = await addAuthenticator(app, page.fragment['token']!)
      const { challenge, ...rest } = (await signIn(careful, '?redirect=/cart')).fragment
      assert.deepEqual(rest, {
        error: 'second_factor_required',
        factors: 'totp,recovery-code',
        redirect: '/cart',
      })
      const finished = await finish(app, { challenge, code: authenticator.code() })
      assert.equal(finished.status, 200, finished.text)
      assert.equal((await me(app, finished.body.token)).body.user._id, _id)
    })

    test('refuses what the provider answers instead of a token, a person or a list', async (t) => {
      const person = { user: { id: 99 }, emails: [first('fine@example.com')] }
      for (const [path, status, body] of [
        [TOKEN, 200, '{"error":"bad_verification_code"}'],
        [TOKEN, 200, '{"error":"x","access_token":"given_all_the_same"}'],
        [TOKEN, 200, '{}'],
        [TOKEN, 200, '{"access_token":7}'],
        [TOKEN, 200, '{"access_token":"two\\r\\nlines"}'],
        [TOKEN, 200, 'access_token=gho_secretsecret&token_type=bearer'],
        [TOKEN, 200, 'null'],
        [TOKEN, 500, '{"access_token":"x"}'],
        [TOKEN, 302, ''],
        ['/api/user', 401, '{"id":99}'],
        ['/api/user', 200, '<html>gho_secretsecret</html>'],
        ['/api/user/emails', 500, '[]'],
        ['/api/user/emails', 200, '{"email":"fine@example.com","primary":true,"verified":true}'],
        ['/api/user/emails', 200, 'gho_secretsecret'],
      ] as const) {
        t.after(() => provider.answer(path, undefined))
        provider.answer(path, { status, body })
        await isRefused(person, 'provider_error', [path, status, body])
        provider.answer(path, undefined)
      }
      assert.ok((await signIn(person)).fragment['token'])
    })

    test('asks for no token without the state of this browser, and once for each', async () => {
      const browser = browserOf(app)
      const page = await browser.visit(startOf('idpb'), { stopAt: callbackOf('idpb') })
      const tokenRequests = provider.tokenRequests()
      const stateless = new URL(page.url)
      stateless.searchParams.delete('state')
      for (const address of [stateless, callbackOf('idpb'), page.url])
        assert.deepEqual((await browserOf(app).visit(String(address))).fragment, { error: 'invalid_state' })
      // Not configured here, but the state is not its own anyway.
      const other = await app.request(
        'GET',
        page.url.href.split(NAMES.PUBLIC_URL)[1]!.replace('idpb', 'idpa'),
      )
      assert.deepEqual([other.status, other.body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
      assert.equal(provider.tokenRequests(), tokenRequests)
      const codeless = new URL(page.url)
      codeless.searchParams.delete('code')
      assert.deepEqual((await browser.visit(codeless.href)).fragment, { error: 'provider_error' })
      assert.equal(provider.tokenRequests(), tokenRequests)
    })

    test('passes the refusals of the provider on as one word', async () => {
      for (const [said, error] of [
        ['access_denied', 'access_denied'],
        ['redirect_uri_mismatch', 'provider_error'],
        ['<script>', 'provider_error'],
      ]) {
        const browser = browserOf(app)
        const { url } = await browser.visit(startOf('idpb'), { stopAt: callbackOf('idpb') })
        url.searchParams.delete('code')
        url.searchParams.set('error', said!)
        url.searchParams.set('error_description', 'whatever it says')
        assert.equal((await browser.visit(url.href)).url.href, `${APP_URL}/auth/callback#error=${error}`)
      }
    })

    test('keeps codes, tokens and the secret out of the log', () => {
      assert.match(app.log(), /"provider":"idpb","reason":"[^"]*bad_verification_code"/)
      for (const secret of [CLIENT.secret, 'gho_secret', 'given_all', ...provider.given])
        assert.equal(app.log().includes(secret), false, secret)
    })
  })
})
