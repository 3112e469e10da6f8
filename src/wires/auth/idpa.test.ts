import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../db/sql.ts'
import { startApp, type TestApp } from '../../testing/app.ts'
import { login, me, PASSWORD, refresh } from '../../testing/auth.ts'
import type { Browser } from '../../testing/browser.ts'
import { eachEngine, endOfSuite } from '../../testing/engines.ts'
import { startOidcIssuer, type OidcIssuer } from '../../testing/oidc-issuer.ts'
import {
  APP_URL,
  browserOf,
  callbackOf,
  CLIENT,
  NAMES,
  personOf,
  PUBLIC_URL,
  startOf,
} from '../../testing/provider-login.ts'

// Each leads elsewhere when a browser, a router or a parser of another kind reads it.
const ELSEWHERE = [
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/orders\\page',
  '/\t/evil.example',
  '/%0a/evil.example\n',
  'https:evil.example',
  'https://evil.example/',
  'https://shop.example@evil.example/',
  '//shop.example@evil.example/',
  `${APP_URL}/orders`,
  'javascript:alert(1)',
  'orders',
  '',
  ' /orders',
  '/.//evil.example',
  '/a/..//evil.example',
  '/orders\u0000',
  '/orders\u007f',
  `/${'a'.repeat(1000)}`,
]

describe('sign-in through an OpenID Connect issuer', () => {
  eachEngine((engine) => {
    const ending = endOfSuite()
    let issuer: OidcIssuer
    let app: TestApp
    let environment: Record<string, string>
    before(async () => {
      issuer = await startOidcIssuer(ending, { redirectUris: [callbackOf('idpa')] })
      environment = {
        ...NAMES,
        IDPA_ISSUER: issuer.url,
        IDPA_CLIENT_ID: CLIENT.id,
        IDPA_CLIENT_SECRET: CLIENT.secret,
        // So that the same state can be tried there.
        IDPB_CLIENT_ID: CLIENT.id,
        IDPB_CLIENT_SECRET: CLIENT.secret,
        IDPB_AUTHORIZE_URL: `${issuer.url}/auth`,
        IDPB_TOKEN_URL: `${issuer.url}/token`,
        IDPB_API_URL: `${issuer.url}/api`,
      }
      app = await startApp(ending, engine, { environment })
    })

    async function signIn(who: string, { query = '', on = app, browser = browserOf(on), deny = false } = {}) {
      return issuer.consent(browser, await browser.visit(startOf('idpa', query)), who, { deny })
    }

    /** The address of the callback, right before the browser asks it. */
    async function comeBack(who: string, browser: Browser, query = ''): Promise<URL> {
      const stopAt = callbackOf('idpa')
      const page = await browser.visit(startOf('idpa', query), { stopAt })
      return (await issuer.consent(browser, page, who, { stopAt })).url
    }

    const count = async (table: string, on = app): Promise<number> => {
      const counted = await on.app.db.get<{ total: number }>(
        sql`select count(*) as total from ${sql.literal(table)}`,
      )
      return counted!.total
    }
    const tokenRequests = () => issuer.asked.get('/token') ?? 0

    /** What the browser is told by a callback that must lead to nothing at all. */
    async function refusedCallback(browser: Browser, address: string | URL): Promise<string | undefined> {
      const before = [await count('auth_sessions'), await count('auth_users'), tokenRequests()]
      const page = await browser.visit(String(address))
      assert.deepEqual([await count('auth_sessions'), await count('auth_users'), tokenRequests()], before)
      assert.deepEqual([page.url.origin, page.fragment['token']], [APP_URL, undefined])
      return page.fragment['error']
    }

    test('makes a verified account, and opens the same one the next time', async () => {
      issuer.people.set('new', { email: 'New@example.com', email_verified: true, name: 'Noor New' })
      const page = await signIn('new')
      assert.equal(page.url.href.split('#')[0], `${APP_URL}/auth/callback`)
      assert.deepEqual(Object.keys(page.fragment), ['token', 'refreshToken'])
      const person = await personOf(app, page)
      assert.deepEqual(
        [person.email, person.emailVerified, person.name],
        ['New@example.com', true, 'Noor New'],
      )
      assert.equal((await refresh(app, page.fragment['refreshToken']!)).status, 200)
      // Another address at the provider is still the same person.
      issuer.people.set('new', { email: 'moved@example.com', email_verified: true })
      assert.equal((await personOf(app, await signIn('new')))._id, person._id)
    })

    test('sends the browser with state, nonce and a PKCE challenge, and a cookie that only it can use', async () => {
      const browser = browserOf(app)
      const started = await browser.step(startOf('idpa'))
      assert.equal(started.status, 302)
      assert.equal(started.headers.get('cache-control'), 'no-store')
      const asked = new URL(started.headers.get('location')!)
      assert.equal(asked.origin, issuer.url)
      const said = Object.fromEntries(asked.searchParams)
      assert.deepEqual(
        [said['response_type'], said['client_id'], said['redirect_uri'], said['code_challenge_method']],
        ['code', CLIENT.id, `${PUBLIC_URL}/auth/idpa/callback`, 'S256'],
      )
      for (const name of ['nonce', 'code_challenge']) assert.match(said[name]!, /^[\w-]{43}$/)
      assert.match(said['state']!, /^[0-3][\w-]{43}$/)
      const cookie = browser.cookies(startOf('idpa'))
      const [name = ''] = cookie.split('=')
      assert.equal(name, `__Host-sixwire_login_${said['state']![0]}`)
      const attributes = browser.attributesOf(name)!.split('; ').toSorted()
      assert.deepEqual(attributes, ['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
      for (const name of ['state', 'nonce']) assert.equal(cookie.includes(said[name]!), false)
      const again = new URL((await browser.step(startOf('idpa'))).headers.get('location')!)
      assert.notEqual(again.searchParams.get('state'), said['state'])
    })

    test('takes the cookie back when it ends, well or not', async () => {
      issuer.people.set('cookie', { email: 'cookie@example.com', email_verified: true })
      const browser = browserOf(app)
      const back = await comeBack('cookie', browser)
      assert.notEqual(browser.cookies(back.href), '')
      assert.ok((await browser.visit(back.href)).fragment['token'])
      assert.equal(browser.cookies(back.href), '')
      await signIn('cookie', { browser, deny: true })
      assert.equal(browser.cookies(back.href), '')
    })

    test('goes on in two tabs of one browser, in whichever order they come back', async () => {
      issuer.people.set('tabs', { email: 'tabs@example.com', email_verified: true })
      for (const order of [
        [0, 1],
        [1, 0],
      ]) {
        const browser = browserOf(app)
        const backs: URL[] = []
        for (const tab of [0, 1]) backs.push(await comeBack('tabs', browser, `?redirect=/${tab}`))
        for (const tab of order) {
          const { fragment } = await browser.visit(backs[tab]!.href)
          assert.equal(fragment['redirect'], `/${tab}`)
          assert.ok(fragment['token'])
        }
        assert.equal(browser.cookies(callbackOf('idpa')), '')
      }
    })

    test('keeps four attempts of a browser at most, however many it begins', async () => {
      issuer.people.set('many', { email: 'many@example.com', email_verified: true })
      const browser = browserOf(app)
      const longest = `?redirect=/${'a'.repeat(999)}`
      for (let attempt = 0; attempt < 20; attempt++) {
        assert.equal((await browser.step(startOf('idpa', longest))).status, 302)
        app.clock.advance(1)
      }
      const cookies = browser.cookies(startOf('idpa'))
      assert.equal(cookies.split('; ').length, 4)
      // Proxies take 8 KB for a header, and there may be other cookies.
      assert.ok(cookies.length < 7_500, `${cookies.length} characters`)
      const { fragment } = await browser.visit((await comeBack('many', browser)).href)
      assert.ok(fragment['token'])
    })

    test('ends the oldest of four attempts for a fifth one, and no other', async () => {
      issuer.people.set('fifth', { email: 'fifth@example.com', email_verified: true })
      const browser = browserOf(app)
      const backs: URL[] = []
      const begin = async () => {
        backs.push(await comeBack('fifth', browser, `?redirect=/${backs.length}`))
        app.clock.advance(1)
      }
      const end = async (at: number) => (await browser.visit(backs[at]!.href)).fragment
      for (let tab = 0; tab < 4; tab++) await begin()
      assert.ok((await end(1))['token'])
      await begin() // where that one was
      await begin()
      assert.equal(await refusedCallback(browser, backs[0]!), 'invalid_state')
      for (const tab of [2, 5, 3, 4]) {
        const { token, redirect } = await end(tab)
        assert.equal(redirect, `/${tab}`)
        assert.ok(token)
      }
      assert.equal(browser.cookies(callbackOf('idpa')), '')
    })

    test('gives the place of cookies that nobody can open, or that ran out, to the next attempt', async () => {
      issuer.people.set('place', { email: 'place@example.com', email_verified: true })
      for (const fill of ['unreadable', 'run out'] as const) {
        const browser = browserOf(app)
        const living: URL[] = []
        const begin = async () => void living.push(await comeBack('place', browser))
        if (fill === 'run out') {
          await browser.step(startOf('idpa'))
          // A browser with a slow clock still sends it.
          app.clock.advance(600_000)
          for (let tab = 0; tab < 3; tab++) await begin()
        } else {
          for (let tab = 0; tab < 3; tab++) await begin()
          const taken = browser.cookies(startOf('idpa'))
          const free = [0, 1, 2, 3].find((slot) => !taken.includes(`sixwire_login_${slot}=`))!
          browser.setCookie(startOf('idpa'), `__Host-sixwire_login_${free}`, 'of an earlier secret', '/')
        }
        await begin()
        assert.equal(browser.cookies(startOf('idpa')).split('; ').length, 4)
        for (const back of living) assert.ok((await browser.visit(back.href)).fragment['token'], fill)
      }
    })

    test('comes back with the path that the frontend asked for', async () => {
      issuer.people.set('path', { email: 'path@example.com', email_verified: true })
      for (const [given, kept] of [
        ['/', '/'],
        ['/orders?page=2&q=%2F%2Fevil#top', '/orders?page=2&q=%2F%2Fevil#top'],
        ['/a/../b c/é', '/b%20c/%C3%A9'],
        ['/@evil.example', '/@evil.example'],
      ]) {
        const query = `?redirect=${encodeURIComponent(given!)}`
        assert.equal((await signIn('path', { query })).fragment['redirect'], kept)
        assert.deepEqual((await signIn('path', { query, deny: true })).fragment, {
          error: 'access_denied',
          redirect: kept,
        })
      }
    })

    test('refuses to lead anywhere but to the application', async () => {
      for (const target of ELSEWHERE) {
        const path = `/auth/idpa?redirect=${encodeURIComponent(target)}`
        const answered = await app.request('GET', path)
        assert.equal(answered.status, 400, JSON.stringify(target))
        assert.equal(answered.body.error.code, 'VALIDATION_ERROR')
        assert.equal(answered.headers.get('set-cookie'), null)
      }
    })

    test('says so where the person does not consent', async () => {
      const page = await signIn('unwilling', { deny: true })
      assert.equal(page.url.href, `${APP_URL}/auth/callback#error=access_denied`)
    })

    describe('without a session and without a token request', () => {
      test('a callback without a state', async () => {
        const browser = browserOf(app)
        const back = await comeBack('stateless', browser)
        back.searchParams.delete('state')
        assert.equal(await refusedCallback(browser, back), 'invalid_state')
        assert.equal(await refusedCallback(browser, callbackOf('idpa')), 'invalid_state')
        for (const state of ['4', '-', '0', 'x'.repeat(44)])
          assert.equal(
            await refusedCallback(browser, `${callbackOf('idpa')}?code=x&state=${state}`),
            'invalid_state',
          )
        // Missing on both sides is not the same on both sides.
        assert.equal(await refusedCallback(browserOf(app), back), 'invalid_state')
        assert.equal(
          await refusedCallback(browserOf(app), `${callbackOf('idpa')}?code=x&state=`),
          'invalid_state',
        )
      })

      test('a callback in another browser, with or without a sign-in of its own', async () => {
        const back = await comeBack('attacker', browserOf(app))
        assert.equal(await refusedCallback(browserOf(app), back), 'invalid_state')
        const victim = browserOf(app)
        const own = await comeBack('victim', victim)
        assert.equal(await refusedCallback(victim, back), 'invalid_state')
        // And the victim's own goes on.
        issuer.people.set('victim', { email: 'victim@example.com', email_verified: true })
        assert.ok((await victim.visit(own.href)).fragment['token'])
      })

      test('a callback that comes a second time, even with its cookie', async () => {
        issuer.people.set('replayed', { email: 'replayed@example.com', email_verified: true })
        const browser = browserOf(app)
        const back = await comeBack('replayed', browser)
        const [name, value] = browser.cookies(back.href).split('=') as [string, string]
        assert.ok((await browser.visit(back.href)).fragment['token'])
        browser.setCookie(back.href, name, value, '/')
        assert.equal(await refusedCallback(browser, back), 'invalid_state')
      })

      test('all but one of ten callbacks at the same moment', async () => {
        issuer.people.set('double', { email: 'double@example.com', email_verified: true })
        const browser = browserOf(app)
        const back = await comeBack('double', browser)
        const asked = tokenRequests()
        const pages = await Promise.all(Array.from({ length: 10 }, () => browser.visit(back.href)))
        assert.equal(pages.filter(({ fragment }) => fragment['token']).length, 1)
        assert.equal(pages.filter(({ fragment }) => fragment['error'] === 'invalid_state').length, 9)
        assert.equal(tokenRequests(), asked + 1)
      })

      test('a sign-in that began at idpa and ends at idpb', async () => {
        const browser = browserOf(app)
        const back = await comeBack('mixed', browser)
        const other = back.href.replace('/auth/idpa/', '/auth/idpb/')
        assert.equal(await refusedCallback(browser, other), 'invalid_state')
      })

      test('a cookie that was changed, was made elsewhere, or is there twice', async () => {
        const browser = browserOf(app)
        const back = await comeBack('tampered', browser)
        const [name, value] = browser.cookies(back.href).split('=') as [string, string]
        for (const bad of [
          `${value.slice(0, -2)}AA`,
          value.slice(10),
          '',
          'x',
          '{}',
          `${value}; ${name}=${value}`,
        ]) {
          browser.setCookie(back.href, name, bad, '/')
          assert.equal(await refusedCallback(browser, back), 'invalid_state', bad)
        }
      })

      test('a sign-in that took ten minutes', async () => {
        const browser = browserOf(app)
        const back = await comeBack('slow', browser)
        app.clock.advance(600_000)
        assert.equal(await refusedCallback(browser, back), 'invalid_state')
      })
    })

    test('joins the account of its address where both sides have verified it', async () => {
      const account = await app.register('joined@example.com')
      await app.app.service('auth').users.verify(account.email)
      issuer.people.set('joined', { email: 'JOINED@example.com', email_verified: true, name: 'Another Name' })
      const person = await personOf(app, await signIn('joined'))
      assert.deepEqual(
        [person._id, person.email, person.name],
        [account._id, 'joined@example.com', undefined],
      )
      // What was there stays: the password and the sessions.
      assert.equal((await login(app, account.email)).status, 200)
      assert.equal((await me(app, account.token)).status, 200)
    })

    test('joins nothing where the account has not verified the address', async () => {
      const squatter = await app.register('waiting@example.com')
      issuer.people.set('waiting', { email: 'waiting@example.com', email_verified: true })
      assert.deepEqual((await signIn('waiting')).fragment, { error: 'account_exists' })
      assert.equal((await login(app, squatter.email)).status, 200)
    })

    test('joins nothing where the provider has not verified the address', async () => {
      const account = await app.register('owner@example.com')
      await app.app.service('auth').users.verify(account.email)
      for (const [who, said] of [
        ['pretender', { email_verified: false }],
        ['silent pretender', {}],
      ] as const) {
        issuer.people.set(who, { email: 'owner@example.com', ...said })
        assert.deepEqual((await signIn(who)).fragment, { error: 'account_exists' })
      }
      assert.equal(await count("auth_identities where user_id = '" + account._id + "'"), 0)
    })

    test('makes an unverified account for an address that is not verified', async () => {
      issuer.people.set('unsure', { email: 'unsure@example.com', email_verified: false })
      const person = await personOf(app, await signIn('unsure'))
      assert.deepEqual([person.email, person.emailVerified], ['unsure@example.com', false])
      assert.equal((await personOf(app, await signIn('unsure')))._id, person._id)
    })

    test('verifies such an account once the provider has, and ends what was opened before', async () => {
      issuer.people.set('later', { email: 'later@example.com', email_verified: false })
      const first = await signIn('later')
      const { _id } = await personOf(app, first)
      issuer.people.set('later', { email: 'later@example.com', email_verified: true })
      const person = await personOf(app, await signIn('later'))
      assert.deepEqual([person._id, person.emailVerified], [_id, true])
      assert.equal((await me(app, first.fragment['token']!)).status, 401)
      assert.equal((await personOf(app, await signIn('later')))._id, _id)
    })

    test('shuts out whoever waited in an account until its owner proved the address', async () => {
      issuer.people.set('lurker', { email: 'claimed@example.com', email_verified: false })
      const { _id } = await personOf(app, await signIn('lurker'))
      // What a reset or a magic link does to an unverified account.
      await app.app.db.write(sql`
        update auth_users set email_verified_at = 1, credentials_version = credentials_version + 1 where id = ${_id}`)
      assert.deepEqual((await signIn('lurker')).fragment, { error: 'account_exists' })
      // The identity is free to open an account of its own.
      issuer.people.set('lurker', { email: 'lurker@example.com', email_verified: true })
      const person = await personOf(app, await signIn('lurker'))
      assert.notEqual(person._id, _id)
      assert.equal(person.email, 'lurker@example.com')
    })

    test('makes no account without an address, or with one that none can have', async () => {
      assert.deepEqual((await signIn('nameless')).fragment, { error: 'email_required' })
      for (const email of ['', 'no address', 'a@b', 'two@example.com,three@example.com', 'k@exämple.com']) {
        issuer.people.set('odd', { email, email_verified: true })
        assert.deepEqual((await signIn('odd')).fragment, { error: 'email_required' }, email)
      }
    })

    test('opens nothing for a disabled account, whether it is known or would be joined', async () => {
      const { users } = app.app.service('auth')
      issuer.people.set('disabled', { email: 'disabled@example.com', email_verified: true })
      const first = await signIn('disabled')
      await users.disable('disabled@example.com')
      assert.deepEqual((await signIn('disabled')).fragment, { error: 'account_disabled' })
      assert.equal((await me(app, first.fragment['token']!)).status, 401)
      await users.enable('disabled@example.com')
      assert.ok((await signIn('disabled')).fragment['token'])

      await app.register('off@example.com')
      await users.verify('off@example.com')
      await users.disable('off@example.com')
      issuer.people.set('off', { email: 'off@example.com', email_verified: true })
      assert.deepEqual((await signIn('off')).fragment, { error: 'account_disabled' })
    })

    test('makes one account of several callbacks of one new person at the same moment', async () => {
      for (let round = 0; round < 5; round++) {
        const who = `racer${round}`
        issuer.people.set(who, { email: `${who}@example.com`, email_verified: round % 2 === 0 })
        const browsers = Array.from({ length: 6 }, () => browserOf(app))
        const backs = await Promise.all(browsers.map((browser) => comeBack(who, browser)))
        const pages = await Promise.all(browsers.map((browser, at) => browser.visit(backs[at]!.href)))
        const people = await Promise.all(pages.map((page) => personOf(app, page)))
        assert.equal(new Set(people.map(({ _id }) => _id)).size, 1)
      }
    })

    test('makes one account of a registration and a callback at the same moment', async () => {
      for (let round = 0; round < 5; round++) {
        const email = `both${round}@example.com`
        issuer.people.set(email, { email, email_verified: true })
        const browser = browserOf(app)
        const back = await comeBack(email, browser)
        const [page, registered] = await Promise.all([
          browser.visit(back.href),
          app.request('POST', '/auth/register', { body: { email, password: PASSWORD } }),
        ])
        const outcome = [page.fragment['error'] ?? 'in', registered.status].join(' ')
        assert.ok(['in 409', 'account_exists 201'].includes(outcome), outcome)
      }
    })

    test('makes the first account of a server its administrator', async (t) => {
      const fresh = await startApp(t, engine, { environment })
      issuer.people.set('first', { email: 'first@example.com', email_verified: true })
      assert.equal((await personOf(fresh, await signIn('first', { on: fresh }))).role, 'admin')
      issuer.people.set('second', { email: 'second@example.com', email_verified: true })
      assert.equal((await personOf(fresh, await signIn('second', { on: fresh }))).role, 'user')
    })

    test('makes no account where registration is closed, and still opens those that are there', async (t) => {
      const databaseUrl = await engine.freshUrl()
      const open = await startApp(t, engine, { environment, databaseUrl })
      issuer.people.set('member', { email: 'member@example.com', email_verified: true })
      const member = await personOf(open, await signIn('member', { on: open }))
      const account = await open.register('resident@example.com')
      await open.app.service('auth').users.verify('resident@example.com')

      const closed = await startApp(t, engine, {
        environment,
        databaseUrl,
        config: { auth: { registration: 'closed' } },
      })
      issuer.people.set('stranger', { email: 'stranger@example.com', email_verified: true })
      const refused = await signIn('stranger', { on: closed })
      assert.deepEqual(refused.fragment, { error: 'registration_closed' })
      assert.equal(await count('auth_users', closed), 2)
      assert.equal((await personOf(closed, await signIn('member', { on: closed })))._id, member._id)
      issuer.people.set('resident', { email: 'resident@example.com', email_verified: true })
      assert.equal((await personOf(closed, await signIn('resident', { on: closed })))._id, account._id)
    })

    test('works with an issuer whose ID token holds the address', async (t) => {
      const telling = await startOidcIssuer(t, { redirectUris: [callbackOf('idpa')], claimsInIdToken: true })
      telling.people.set('open', { email: 'open@example.com', email_verified: true })
      const other = await startApp(t, engine, { environment: { ...environment, IDPA_ISSUER: telling.url } })
      const browser = browserOf(other)
      const page = await telling.consent(browser, await browser.visit(startOf('idpa')), 'open')
      const person = await personOf(other, page)
      assert.deepEqual([person.email, person.emailVerified], ['open@example.com', true])
      assert.equal(telling.asked.get('/me'), undefined)
    })

    test('needs the issuer only when somebody signs in, and asks it again after it was out of reach', async (t) => {
      const away = await startOidcIssuer(t, { redirectUris: [callbackOf('idpa')] })
      await away.stop()
      const other = await startApp(t, engine, { environment: { ...environment, IDPA_ISSUER: away.url } })
      const health = await other.request('GET', '/auth/health')
      assert.deepEqual([health.status, health.body.status], [200, 'healthy'])
      assert.deepEqual(health.body.providers.slice(0, 3), ['local', 'idpa', 'idpb'])
      assert.equal((await other.request('GET', '/health')).status, 200)

      const browser = browserOf(other)
      const page = await browser.visit(startOf('idpa', '?redirect=/cart'))
      assert.deepEqual(page.fragment, { error: 'provider_error', redirect: '/cart' })
      assert.equal(page.url.href.split('#')[0], `${APP_URL}/auth/callback`)
      assert.match(other.log(), /"provider":"idpa","reason":"[^"]*ECONNREFUSED[^"]*"/)

      await away.start()
      away.people.set('patient', { email: 'patient@example.com', email_verified: true })
      const discovery = '/.well-known/openid-configuration'
      for (let i = 0; i < 3; i++) {
        const fresh = browserOf(other)
        assert.ok(
          (await away.consent(fresh, await fresh.visit(startOf('idpa')), 'patient')).fragment['token'],
        )
      }
      assert.equal(away.asked.get(discovery), 1)
      other.clock.advance(3_600_000)
      await browserOf(other).visit(startOf('idpa'))
      assert.equal(away.asked.get(discovery), 2)

      // Gone between consent and callback.
      const late = browserOf(other)
      const stopAt = callbackOf('idpa')
      const back = await away.consent(late, await late.visit(startOf('idpa'), { stopAt }), 'patient', {
        stopAt,
      })
      await away.stop()
      assert.deepEqual((await late.visit(back.url.href)).fragment, { error: 'provider_error' })
    })

    test('tells nobody a secret: not the log, not the database, not the fragment of a failure', async () => {
      issuer.people.set('secret', { email: 'secret@example.com', email_verified: true })
      const browser = browserOf(app)
      const back = await comeBack('secret', browser)
      const [, cookie = ''] = browser.cookies(back.href).split('=')
      const { fragment } = await browser.visit(back.href)
      const stale = await browser.visit(back.href)
      assert.deepEqual(stale.fragment, { error: 'invalid_state' })
      const secrets = [CLIENT.secret, cookie, fragment['token']!, fragment['refreshToken']!]
      for (const name of ['code', 'state']) secrets.push(back.searchParams.get(name)!)
      const stored = JSON.stringify([
        await app.app.db.all(sql`select * from auth_identities`),
        await app.app.db.all(sql`select * from auth_provider_returns`),
      ])
      assert.match(stored, /secret/) // the subject
      for (const secret of secrets) {
        assert.equal(app.log().includes(secret), false, `the log has ${secret}`)
        assert.equal(stored.includes(secret), false, `the database has ${secret}`)
      }
    })
  })
})
