// The way of a browser through a provider and back: its attempts, the cookies that hold them, and who may end one.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import type { Browser } from '../../../../testing/browser.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../../testing/engines.ts'
import {
  APP_URL,
  browserOf,
  callbackOf,
  CLIENT,
  PUBLIC_URL,
  startOf,
} from '../../../../testing/provider-login.ts'
import { startWithIssuer, type WithIssuer } from './idpa.fixture.ts'

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

describe('sign-in through a provider', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const ending = endOfSuite()
    let app: WithIssuer['app']
    let issuer: WithIssuer['issuer']
    let signIn: WithIssuer['signIn']
    let comeBack: WithIssuer['comeBack']
    let count: WithIssuer['count']
    before(async () => {
      ;({ app, issuer, signIn, comeBack, count } = await startWithIssuer(ending, engine))
    })

    const tokenRequests = () => issuer.asked.get('/token') ?? 0

    /** What the browser is told by a callback that must lead to nothing at all. */
    async function refusedCallback(browser: Browser, address: string | URL): Promise<string | undefined> {
      const before = [await count('auth_sessions'), await count('auth_users'), tokenRequests()]
      const page = await browser.visit(String(address))
      assert.deepEqual([await count('auth_sessions'), await count('auth_users'), tokenRequests()], before)
      assert.deepEqual([page.url.origin, page.fragment['token']], [APP_URL, undefined])
      return page.fragment['error']
    }

    testOnce('sends the browser with state, nonce, a PKCE challenge and a cookie of its own', async () => {
      const browser = browserOf(app)
      const started = await browser.step(startOf('idpa'))
      assert.equal(started.status, 302)
      assert.equal(started.headers.get('cache-control'), 'no-store')
      const authorizationUrl = new URL(started.headers.get('location')!)
      assert.equal(authorizationUrl.origin, issuer.url)
      const parameters = Object.fromEntries(authorizationUrl.searchParams)
      assert.deepEqual(
        [
          parameters['response_type'],
          parameters['client_id'],
          parameters['redirect_uri'],
          parameters['code_challenge_method'],
        ],
        ['code', CLIENT.id, `${PUBLIC_URL}/auth/idpa/callback`, 'S256'],
      )
      for (const name of ['nonce', 'code_challenge']) assert.match(parameters[name]!, /^[\w-]{43}$/)
      assert.match(parameters['state']!, /^[\w-]{43}$/)
      const cookie = browser.cookies(startOf('idpa'))
      const [name = ''] = cookie.split('=')
      assert.equal(name, `__Host-sixwire_login_${parameters['state']!.slice(0, 8)}`)
      const attributes = browser.attributesOf(name)!.split('; ').toSorted()
      assert.deepEqual(attributes, ['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', 'Secure'])
      for (const name of ['state', 'nonce']) assert.equal(cookie.includes(parameters[name]!), false)
      const again = new URL((await browser.step(startOf('idpa'))).headers.get('location')!)
      assert.notEqual(again.searchParams.get('state'), parameters['state'])
    })

    testOnce('takes the cookie back when it ends, well or not', async () => {
      issuer.people.set('cookie', { email: 'cookie@example.com', email_verified: true })
      const browser = browserOf(app)
      const back = await comeBack('cookie', browser)
      assert.notEqual(browser.cookies(back.href), '')
      assert.ok((await browser.visit(back.href)).fragment['token'])
      assert.equal(browser.cookies(back.href), '')
      await signIn('cookie', { browser, deny: true })
      assert.equal(browser.cookies(back.href), '')
    })

    testOnce('goes on in two tabs of one browser, in whichever order they come back', async () => {
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

    testOnce('goes on in two tabs that start at the same moment', async () => {
      issuer.people.set('restored', { email: 'restored@example.com', email_verified: true })
      for (let round = 0; round < 4; round++) {
        const browser = browserOf(app)
        const starts = await Promise.all([0, 1].map(() => browser.step(startOf('idpa'))))
        for (const started of starts) {
          const page = await browser.visit(started.headers.get('location')!)
          assert.ok((await issuer.consent(browser, page, 'restored')).fragment['token'])
        }
        assert.equal(browser.cookies(callbackOf('idpa')), '')
      }
    })

    testOnce('keeps four attempts of a browser at most, however many it begins', async () => {
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

    testOnce('ends the oldest of four attempts for a fifth one, and no other', async () => {
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

    testOnce('replaces invalid and expired cookies before those of valid attempts', async () => {
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
          browser.setCookie(startOf('idpa'), '__Host-sixwire_login_-earlier', 'of an earlier secret', '/')
        }
        await begin()
        assert.equal(browser.cookies(startOf('idpa')).split('; ').length, 4)
        for (const back of living) assert.ok((await browser.visit(back.href)).fragment['token'], fill)
      }
    })

    testOnce('comes back with the path that the frontend asked for', async () => {
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

    testOnce('comes back to the console if that has started it', async () => {
      issuer.people.set('console', { email: 'console@example.com', email_verified: true })
      const query = '?page=console'
      const { url } = await signIn('console', { query })
      const [place, tokens] = url.hash.split('?')
      assert.deepEqual([url.origin + url.pathname, place], [`${PUBLIC_URL}/console`, '#/sign-in'])
      assert.ok(new URLSearchParams(tokens).get('refreshToken'))
      const denied = await signIn('console', { query, deny: true })
      assert.equal(denied.url.hash, '#/sign-in?error=access_denied')
    })

    testOnce('comes back without it from a sign-in that it does not know, or knows no longer', async () => {
      const unknown = await comeBack('path', browserOf(app), '?redirect=/orders')
      assert.deepEqual((await browserOf(app).visit(unknown.href)).fragment, { error: 'invalid_state' })
      const browser = browserOf(app)
      const late = await comeBack('path', browser, '?redirect=/orders')
      app.clock.advance(600_000)
      assert.deepEqual((await browser.visit(late.href)).fragment, { error: 'invalid_state' })
    })

    testOnce('refuses to lead anywhere but to the application', async () => {
      for (const target of ELSEWHERE) {
        const path = `/auth/idpa?redirect=${encodeURIComponent(target)}`
        const answered = await app.request('GET', path)
        assert.equal(answered.status, 400, JSON.stringify(target))
        assert.equal(answered.body.error.code, 'VALIDATION_ERROR')
        assert.equal(answered.headers.get('set-cookie'), null)
      }
    })

    testOnce('says so where the person does not consent', async () => {
      const page = await signIn('unwilling', { deny: true })
      assert.equal(page.url.href, `${APP_URL}/auth/callback#error=access_denied`)
    })

    describe('without a session and without a token request', () => {
      testOnce('a callback without a state', async () => {
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

      testOnce('a callback in another browser, with or without a sign-in of its own', async () => {
        const back = await comeBack('attacker', browserOf(app))
        assert.equal(await refusedCallback(browserOf(app), back), 'invalid_state')
        const victim = browserOf(app)
        const own = await comeBack('victim', victim)
        assert.equal(await refusedCallback(victim, back), 'invalid_state')
        // And the victim's own goes on.
        issuer.people.set('victim', { email: 'victim@example.com', email_verified: true })
        assert.ok((await victim.visit(own.href)).fragment['token'])
      })

      testOnce('a callback that comes a second time, even with its cookie', async () => {
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
        const requestsBefore = tokenRequests()
        const pages = await Promise.all(Array.from({ length: 10 }, () => browser.visit(back.href)))
        assert.equal(pages.filter(({ fragment }) => fragment['token']).length, 1)
        assert.equal(pages.filter(({ fragment }) => fragment['error'] === 'invalid_state').length, 9)
        assert.equal(tokenRequests(), requestsBefore + 1)
      })

      testOnce('a sign-in that began at idpa and ends at idpb', async () => {
        const browser = browserOf(app)
        const back = await comeBack('mixed', browser)
        const other = back.href.replace('/auth/idpa/', '/auth/idpb/')
        assert.equal(await refusedCallback(browser, other), 'invalid_state')
      })

      testOnce('a cookie that was changed or was made elsewhere', async () => {
        const browser = browserOf(app)
        const back = await comeBack('tampered', browser)
        const [name, value] = browser.cookies(back.href).split('=') as [string, string]
        // Within: the last characters may already be what they are changed to, or hold bits that nobody reads.
        const changed = value.at(-8) === 'A' ? 'B' : 'A'
        for (const bad of [
          `${value.slice(0, -8)}${changed}${value.slice(-7)}`,
          value.slice(10),
          '',
          'x',
          '{}',
        ]) {
          browser.setCookie(back.href, name, bad, '/')
          assert.equal(await refusedCallback(browser, back), 'invalid_state', bad)
        }
      })

      testOnce('a sign-in that took ten minutes', async () => {
        const browser = browserOf(app)
        const back = await comeBack('slow', browser)
        app.clock.advance(600_000)
        assert.equal(await refusedCallback(browser, back), 'invalid_state')
      })
    })

    testOnce('leaves no secret in the log, the database or the fragment of a failure', async () => {
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
