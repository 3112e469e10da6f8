// Identity providers of the configuration, two at once: what each opens, and what none of them can do for the other.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { oidc } from './oidc.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { me } from '../../../../testing/auth.ts'
import type { Browser } from '../../../../testing/browser.ts'
import { endOfSuite, someEngine } from '../../../../testing/engines.ts'
import { startOidcIssuer, type OidcIssuer } from '../../../../testing/oidc-issuer.ts'
import {
  browserOf,
  callbackOf,
  CLIENT,
  NAMES,
  personOf,
  PUBLIC_URL,
  startOf,
} from '../../../../testing/provider-login.ts'
import { addAuthenticator, finish, wrongCode } from '../../../../testing/second-factor.ts'

const COMPANY = 'providers/company'
const PARTNER = 'providers/partner-2'

describe('identity providers of the configuration', () => {
  someEngine((engine) => {
    const ending = endOfSuite()
    let app: TestApp
    let company: OidcIssuer
    let partner: OidcIssuer
    before(async () => {
      company = await startOidcIssuer(ending, { redirectUris: [callbackOf(COMPANY)] })
      partner = await startOidcIssuer(ending, { redirectUris: [callbackOf(PARTNER)] })
      const client = { clientId: CLIENT.id, clientSecret: CLIENT.secret }
      app = await startApp(ending, engine, {
        environment: NAMES,
        config: {
          auth: {
            providers: {
              company: oidc({ issuer: company.url, ...client, label: 'Our company' }),
              'partner-2': oidc({ issuer: partner.url, ...client, scopes: ['openid', 'email'] }),
            },
          },
        },
      })
    })

    async function signIn(issuer: OidcIssuer, name: string, who: string, query = '') {
      const browser = browserOf(app)
      return issuer.consent(browser, await browser.visit(startOf(name, query)), who)
    }

    /** The address of the callback, right before the browser visits it. */
    async function returnOf(issuer: OidcIssuer, name: string, browser: Browser, who: string): Promise<URL> {
      const stopAt = callbackOf(name)
      return (await issuer.consent(browser, await browser.visit(startOf(name)), who, { stopAt })).url
    }

    const tokenRequests = () => (company.asked.get('/token') ?? 0) + (partner.asked.get('/token') ?? 0)

    async function addFactor(userId: string): Promise<void> {
      await app.app.db.batch([
        sql`insert into auth_totp (user_id, secret, last_step, created_at) values (${userId}, 'sealed', 0, 1)`,
        sql`update auth_users set second_factor_at = 1 where id = ${userId}`,
      ])
    }

    test('open an account each for the same subject, and one account for an address that all have verified', async () => {
      company.people.set('ada', { email: 'ada@company.example', email_verified: true })
      partner.people.set('ada', { email: 'ada@partner.example', email_verified: true })
      const one = await personOf(app, await signIn(company, COMPANY, 'ada'))
      const other = await personOf(app, await signIn(partner, PARTNER, 'ada'))
      assert.deepEqual([one.email, other.email], ['ada@company.example', 'ada@partner.example'])
      assert.equal((await personOf(app, await signIn(company, COMPANY, 'ada')))._id, one._id)

      partner.people.set('ada too', { email: 'ada@company.example', email_verified: true })
      assert.equal((await personOf(app, await signIn(partner, PARTNER, 'ada too')))._id, one._id)
    })

    test('do not join an account by an address that one of them has not verified', async () => {
      company.people.set('grace', { email: 'grace@company.example', email_verified: true })
      await signIn(company, COMPANY, 'grace')
      partner.people.set('pretender', { email: 'grace@company.example', email_verified: false })
      const page = await signIn(partner, PARTNER, 'pretender', '?redirect=/cart')
      assert.deepEqual(page.fragment, { error: 'account_exists', redirect: '/cart' })
    })

    test('are listed for pages to sign in, and by the health', async () => {
      const { status, body } = await app.request('GET', '/auth/providers')
      assert.equal(status, 200)
      assert.deepEqual(body.providers, [
        { name: 'company', label: 'Our company', url: `${PUBLIC_URL}/auth/${COMPANY}` },
        { name: 'partner-2', label: new URL(partner.url).host, url: `${PUBLIC_URL}/auth/${PARTNER}` },
      ])
      const health = (await app.request('GET', '/auth/health')).body
      assert.deepEqual(health.providers.slice(0, 3), ['local', COMPANY, PARTNER])
    })

    test('are asked for the scopes that are configured, by default for address and name', async () => {
      const scopes: (string | null)[] = []
      for (const name of [COMPANY, PARTNER]) {
        const { headers } = await browserOf(app).step(startOf(name))
        scopes.push(new URL(headers.get('location')!).searchParams.get('scope'))
      }
      assert.deepEqual(scopes, ['openid email profile', 'openid email'])
    })

    test('end no sign-in that was started at another one', async () => {
      const browser = browserOf(app)
      const back = await returnOf(company, COMPANY, browser, 'mixed')
      const requestsBefore = tokenRequests()
      const other = back.href.replace(`/${COMPANY}/`, `/${PARTNER}/`)
      assert.deepEqual((await browser.visit(other)).fragment, { error: 'invalid_state' })
      assert.equal(tokenRequests(), requestsBefore)
    })

    test('get no code that another issuer has given (RFC 9207)', async () => {
      for (const iss of [partner.url, '']) {
        const browser = browserOf(app)
        const back = await returnOf(company, COMPANY, browser, 'mixed')
        back.searchParams.set('iss', iss)
        if (iss === '') back.searchParams.delete('iss')
        const requestsBefore = tokenRequests()
        assert.deepEqual((await browser.visit(back.href)).fragment, { error: 'provider_error' })
        assert.equal(tokenRequests(), requestsBefore)
      }
    })

    test('end a sign-in once, by a form too', async () => {
      company.people.set('form', { email: 'form@company.example', email_verified: true })
      const browser = browserOf(app)
      const back = await returnOf(company, COMPANY, browser, 'form')
      const fields = Object.fromEntries(back.searchParams)
      const [name, value] = browser.cookies(back.href).split('=') as [string, string]
      const received = await browser.step(callbackOf(COMPANY), { ...fields, session_state: 'unknown' })
      assert.deepEqual(
        [received.status, received.headers.get('location'), received.headers.get('cache-control')],
        [303, back.href, 'no-store'],
      )
      assert.equal(received.headers.get('referrer-policy'), 'no-referrer')
      assert.ok((await browser.submit(callbackOf(COMPANY), fields)).fragment['token'])
      browser.setCookie(back.href, name, value, '/')
      assert.deepEqual((await browser.submit(callbackOf(COMPANY), fields)).fragment, {
        error: 'invalid_state',
      })
    })

    test('answer 400 under a name that nothing configures', async () => {
      for (const [name, message] of [
        ['nobody', 'No identity provider of this name is in auth.providers. Configured: company, partner-2.'],
        ['idpa', 'The identity provider "idpa" is not configured: set its client id and secret.'],
      ])
        for (const [method, path] of [
          ['GET', ''],
          ['GET', '/callback?code=x&state=y'],
          ['POST', '/callback'],
        ] as const) {
          const { status, body } = await app.request(method, `/auth/providers/${name}${path}`, {
            ...(method === 'POST' && {
              raw: 'code=x&state=y',
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
            }),
          })
          assert.deepEqual([status, body.error.code], [400, 'PROVIDER_NOT_CONFIGURED'])
          assert.equal(body.error.message, message)
        }
    })

    test('lead to the frontend with a challenge if the account has a second factor', async () => {
      company.people.set('careful', { email: 'careful@company.example', email_verified: true })
      const first = await signIn(company, COMPANY, 'careful')
      const { _id } = await personOf(app, first)
      await addFactor(_id)
      const failures = app.log().split('sign-in-failed').length
      const { fragment } = await signIn(company, COMPANY, 'careful', '?redirect=/orders')
      const { challenge = '', ...rest } = fragment
      assert.deepEqual(rest, { error: 'second_factor_required', factors: 'totp', redirect: '/orders' })
      assert.match(challenge, /^[\w-]{43}$/)
      const [row] = await app.app.db.all<{ method: string }>(
        sql`select method from auth_challenges where user_id = ${_id}`,
      )
      assert.equal(row?.method, COMPANY)
      // A right way in that is not over is none that failed.
      assert.equal(app.log().split('sign-in-failed').length, failures)
      assert.equal(app.log().includes(challenge), false)
    })

    test('give a session for that challenge and a second factor', async () => {
      company.people.set('thorough', { email: 'thorough@company.example', email_verified: true })
      const first = await signIn(company, COMPANY, 'thorough')
      const { _id } = await personOf(app, first)
      const authenticator = await addAuthenticator(app, first.fragment['token']!)
      const { challenge } = (await signIn(company, COMPANY, 'thorough')).fragment
      const wrong = await finish(app, { challenge, code: wrongCode(authenticator, app) })
      assert.equal(wrong.code, 'INVALID_CODE')
      const finished = await finish(app, { challenge, code: authenticator.code() })
      assert.equal(finished.status, 200, finished.text)
      assert.equal((await me(app, finished.body.token)).body.user._id, _id)
      assert.match(app.log(), new RegExp(`"event":"sign-in","account":"${_id}"[^\\n]*"method":"${COMPANY}"`))
      assert.equal((await finish(app, { challenge, code: authenticator.code() })).code, 'INVALID_CHALLENGE')
    })

    test('remove the factors of an account whose address they verify for its owner', async () => {
      company.people.set('later', { email: 'later@company.example', email_verified: false })
      const first = await signIn(company, COMPANY, 'later')
      const { _id } = await personOf(app, first)
      // Anybody could have set it up who claimed the address.
      await addFactor(_id)
      await app.app.db.write(sql`
        insert into auth_recovery_codes (user_id, salt, hash) values (${_id}, 's', 'h')`)
      assert.equal((await signIn(company, COMPANY, 'later')).fragment['error'], 'second_factor_required')
      company.people.set('later', { email: 'later@company.example', email_verified: true })
      const person = await personOf(app, await signIn(company, COMPANY, 'later'))
      assert.deepEqual([person._id, person.emailVerified], [_id, true])
      assert.equal((await me(app, first.fragment['token']!)).status, 401)
      const factors = await app.app.db.get(sql`
        select u.second_factor_at as since, (select count(*) from auth_totp where user_id = u.id)
          + (select count(*) from auth_recovery_codes where user_id = u.id) as factors
        from auth_users u where u.id = ${_id}`)
      assert.deepEqual({ ...factors }, { since: null, factors: 0 })
    })
  })
})
