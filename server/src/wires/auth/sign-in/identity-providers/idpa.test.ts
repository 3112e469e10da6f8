// Which account a sign-in through an OpenID Connect issuer opens, or makes.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp } from '../../../../testing/app.ts'
import { login, me, PASSWORD, refresh } from '../../../../testing/auth.ts'
import { eachEngine, endOfSuite, testOnOne } from '../../../../testing/engines.ts'
import { startOidcIssuer } from '../../../../testing/oidc-issuer.ts'
import { APP_URL, browserOf, callbackOf, personOf, startOf } from '../../../../testing/provider-login.ts'
import { startWithIssuer, type WithIssuer } from './idpa.fixture.ts'

describe('sign-in through an OpenID Connect issuer', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const ending = endOfSuite()
    let app: WithIssuer['app']
    let issuer: WithIssuer['issuer']
    let environment: WithIssuer['environment']
    let signIn: WithIssuer['signIn']
    let comeBack: WithIssuer['comeBack']
    let count: WithIssuer['count']
    before(async () => {
      ;({ app, issuer, environment, signIn, comeBack, count } = await startWithIssuer(ending, engine))
    })

    testOnce('makes a verified account, and opens the same one the next time', async () => {
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

    testOnce('joins nothing where the account has not verified the address', async () => {
      const squatter = await app.register('waiting@example.com')
      issuer.people.set('waiting', { email: 'waiting@example.com', email_verified: true })
      assert.deepEqual((await signIn('waiting')).fragment, { error: 'account_exists' })
      assert.equal((await login(app, squatter.email)).status, 200)
    })

    testOnce('joins nothing where the provider has not verified the address', async () => {
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

    testOnce('makes an unverified account for an address that is not verified', async () => {
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

    test('shuts out a stranger who registered the address before its owner verified it', async () => {
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

    testOnce('makes no account without an address, or with one that none can have', async () => {
      assert.deepEqual((await signIn('nameless')).fragment, { error: 'email_required' })
      for (const email of ['', 'no address', 'a@b', 'two@example.com,three@example.com', 'k@exämple.com']) {
        issuer.people.set('odd', { email, email_verified: true })
        assert.deepEqual((await signIn('odd')).fragment, { error: 'email_required' }, email)
      }
    })

    testOnce('opens nothing for a disabled account, whether it is known or would be joined', async () => {
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

    testOnce('makes the first account of a server its administrator', async (t) => {
      const fresh = await startApp(t, engine, { environment })
      issuer.people.set('first', { email: 'first@example.com', email_verified: true })
      assert.equal((await personOf(fresh, await signIn('first', { on: fresh }))).role, 'admin')
      issuer.people.set('second', { email: 'second@example.com', email_verified: true })
      assert.equal((await personOf(fresh, await signIn('second', { on: fresh }))).role, 'user')
    })

    testOnce('creates no account while registration is closed, and signs in to existing ones', async (t) => {
      const databaseUrl = await engine.migratedUrl()
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

    testOnce('works with an issuer whose ID token holds the address', async (t) => {
      const telling = await startOidcIssuer(t, { redirectUris: [callbackOf('idpa')], claimsInIdToken: true })
      telling.people.set('open', { email: 'open@example.com', email_verified: true })
      const other = await startApp(t, engine, { environment: { ...environment, IDPA_ISSUER: telling.url } })
      const browser = browserOf(other)
      const page = await telling.consent(browser, await browser.visit(startOf('idpa')), 'open')
      const person = await personOf(other, page)
      assert.deepEqual([person.email, person.emailVerified], ['open@example.com', true])
      assert.equal(telling.asked.get('/me'), undefined)
    })

    testOnce('contacts the issuer at a sign-in only, and again after it was unreachable', async (t) => {
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
  })
})
