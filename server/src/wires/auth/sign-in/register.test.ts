import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import bcrypt from '@node-rs/bcrypt'

import { idPattern } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import {
  appForAll,
  login,
  me,
  PASSWORD,
  send,
  startReplicas,
  statuses,
  times,
  type AuthReply,
} from '../../../testing/auth.ts'

describe('registration', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const app = appForAll(engine)
    let people = 0
    const someone = () => `someone${++people}@example.com`
    const register = (body: unknown, headers?: Record<string, string>) =>
      send(app(), 'POST /auth/register', { body, ...(headers && { headers }) })

    testOnce('makes an account, signs in, and answers nothing beyond that', async () => {
      const answered = await register({
        email: ' Ada@Example.com ',
        password: PASSWORD,
        name: 'Ada',
        role: 'admin',
      })
      assert.equal(answered.status, 201)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      const { user, token, refreshToken, ...rest } = answered.body
      assert.deepEqual(rest, {})
      assert.deepEqual(Object.keys(user).toSorted(), ['_id', 'createdAt', 'email', 'name'])
      assert.match(user._id, new RegExp(idPattern))
      assert.equal(user.email, 'Ada@Example.com')
      assert.equal(user.name, 'Ada')
      assert.equal(new Date(user.createdAt).toISOString(), user.createdAt)
      assert.equal((await me(app(), token)).status, 200)
      assert.equal((await send(app(), 'POST /auth/refresh', { body: { refreshToken } })).status, 200)
    })

    testOnce('leaves the name out where there is none', async () => {
      for (const name of [undefined, '', '  ']) {
        const answered = await register({ email: someone(), password: PASSWORD, name })
        assert.equal(answered.status, 201)
        assert.equal('name' in answered.body.user, false)
      }
    })

    testOnce('tells who is signed in, with role and metadata', async () => {
      await app().register()
      const { _id, email, token } = await app().register()
      const { user } = (await me(app(), token)).body
      const { createdAt, ...rest } = user
      assert.deepEqual(rest, { _id, email, emailVerified: false, metadata: {}, role: 'user' })
      assert.equal(new Date(createdAt).toISOString(), createdAt)
    })

    testOnce('keeps the password as a bcrypt hash only', async () => {
      const { _id } = await app().register()
      const row = await app().app.db.get<{ password_hash: string }>(
        sql`select password_hash from auth_users where id = ${_id}`,
      )
      assert.match(row!.password_hash, /^\$2b\$04\$[./A-Za-z0-9]{53}$/)
    })

    test('takes an address once, whatever its case', async () => {
      const email = someone()
      assert.equal((await register({ email, password: PASSWORD })).status, 201)
      const again = await register({ email: email.toUpperCase(), password: 'another horse battery' })
      assert.deepEqual([again.status, again.code], [409, 'EMAIL_TAKEN'])
      assert.equal((await login(app(), email)).status, 200)
    })

    test('takes an address once when ten ask for it at the same moment', async () => {
      const email = someone()
      const answered = await Promise.all(times(10, () => register({ email, password: PASSWORD })))
      assert.deepEqual(statuses(answered), { 201: 1, 409: 9 })
    })

    testOnce('refuses passwords that are too short, too long or too common, and says so', async () => {
      const refused = [
        '',
        'seven77',
        '🔑🔑🔑🔑🔑🔑🔑',
        'a'.repeat(73),
        'ä'.repeat(37),
        'password1',
        'PassWord1',
        'x\0yzxyzxyz',
      ]
      for (const password of refused) {
        const email = someone()
        const answered = await register({ email, password })
        assert.deepEqual(
          [answered.status, answered.code],
          [400, 'VALIDATION_ERROR'],
          JSON.stringify(password),
        )
        assert.match(answered.body.error.details!.issues[0]!.path, /^(\/body)?\/password$/)
        assert.equal((await login(app(), email, password || 'x')).status === 200, false)
      }
      for (const password of ['eight8#8', '🔑🔑🔑🔑🔑🔑🔑🔑', 'a'.repeat(72)])
        assert.equal((await register({ email: someone(), password })).status, 201, password)
    })

    testOnce('names every fault at once, those that no schema can say too', async () => {
      const { status, body } = await register({ email: 'nobody', password: 'short', name: 5 })
      assert.equal(status, 400)
      const { issues } = body.error.details!
      assert.deepEqual(
        issues.map(({ path }) => path),
        ['/body/name', '/body/email', '/body/password'],
      )
      assert.match(issues[1]!.message, /Write one email address/)
      assert.match(issues[2]!.message, /at least 8 characters/)

      const email = someone()
      const own = await register({ email, password: email, name: 5 })
      assert.deepEqual(
        own.body.error.details!.issues.map(({ path }) => path),
        ['/body/name', '/body/password'],
      )
    })

    testOnce('refuses the own address as a password, whole or without its domain, and says so', async () => {
      const email = 'Ada.Lovelace@Example.com'
      const own = ['ada.lovelace@EXAMPLE.com', 'ADA.LOVELACE', 'ａｄａ.ｌｏｖｅｌａｃｅ']
      for (const password of [email, ` ${email}`, 'ada.lovelace\t ', ...own]) {
        const answered = await register({ email, password })
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], password)
        const [issue] = answered.body.error.details!.issues
        assert.equal(issue!.path, '/body/password')
        assert.match(issue!.message, /your own email address/)
      }
      assert.equal((await register({ email, password: 'ada.lovelace!' })).status, 201)
      const { token } = (await login(app(), email, 'ada.lovelace!')).body
      const changed = await send(app(), 'POST /auth/change-password', {
        token,
        body: { currentPassword: 'ada.lovelace!', newPassword: 'Ada.Lovelace' },
      })
      assert.deepEqual([changed.status, changed.code], [400, 'VALIDATION_ERROR'])
      assert.equal(changed.body.error.details!.issues[0]!.path, '/body/newPassword')
      // Another person's is a password like any other.
      assert.equal((await register({ email: someone(), password: email })).status, 201)
    })

    testOnce('refuses the name of the service, and of the platform, as a password', async () => {
      for (const password of ['Sixwire1', 'six-wire 2026', `${app().app.settings.name}-12345!`]) {
        const answered = await register({ email: someone(), password })
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], password)
        assert.match(answered.body.error.details!.issues[0]!.message, /name of the service/)
      }
    })

    testOnce('takes passwords of any composition', async () => {
      for (const password of [
        'wqkzjxvbnr',
        '7305918264',
        '#!%&?=+*~;',
        'ÄÖÜẞÑÉØÅŁŽ',
        'q w e q z x',
        'kkkkkkkkkkkkk',
      ])
        assert.equal((await register({ email: someone(), password })).status, 201, password)
    })

    testOnce('takes two ways to write the same characters for one password', async () => {
      const email = someone()
      assert.equal((await register({ email, password: 'Ｃafé ﬁne passphrase' })).status, 201)
      assert.equal((await login(app(), email, 'Cafe\u0301 fine passphrase')).status, 200)
    })

    testOnce('refuses addresses that look like another one, or like several', async () => {
      await register({ email: 'victim@example.com', password: PASSWORD })
      const tricks = [
        'victim＠example.com',
        'victim@exаmple.com', // a Cyrillic a
        'ⅴictim@example.com',
        'victim@example。com',
        '"victim"@example.com',
        'victim@example.com,evil@example.org',
        'victim@example.com;evil@example.org',
        '<victim@example.com>',
        'Victim <victim@example.com>',
        'victim@example.com\r\nBcc: evil@example.org',
        'victim(comment)@example.com',
        'victim@example.com.',
        'victim@localhost',
        'victim@[127.0.0.1]',
        'victim@@example.com',
        '@example.com',
        'victim@',
        '',
      ]
      for (const email of tricks) {
        const answered = await register({ email, password: 'another horse battery' })
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], JSON.stringify(email))
        const signedIn = await login(app(), email)
        assert.deepEqual(
          [signedIn.status, signedIn.code],
          [401, 'INVALID_CREDENTIALS'],
          JSON.stringify(email),
        )
      }
    })

    testOnce('refuses anything but text where text belongs, before it reaches a query', async () => {
      const { token, refreshToken, email } = await app().register()
      const fields: [string, Record<string, string>][] = [
        ['POST /auth/register', { email: someone(), password: PASSWORD }],
        ['POST /auth/login', { email, password: PASSWORD }],
        ['POST /auth/refresh', { refreshToken }],
        ['POST /auth/change-password', { currentPassword: PASSWORD, newPassword: 'another horse battery' }],
      ]
      for (const [route, body] of fields)
        for (const field of Object.keys(body))
          for (const value of [{ $ne: null }, ['x'], [[]], {}, 1, true, null, undefined]) {
            const answered = await send(app(), route, { token, body: { ...body, [field]: value } })
            const context = `${route} ${field} ${JSON.stringify(value)}`
            assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], context)
            assert.equal(answered.body.error.details!.issues[0]!.path, `/body/${field}`, context)
          }
    })

    testOnce('answers the first answer again under the same Idempotency-Key', async () => {
      const body = { email: someone(), password: PASSWORD }
      const headers = { 'idempotency-key': `register-${body.email}` }
      const first = await register(body, headers)
      const again = await register(body, headers)
      assert.equal(first.status, 201)
      assert.equal(again.text, first.text)
      assert.equal(again.headers.get('idempotency-replayed'), 'true')
    })

    testOnce('is answered again with its tokens for a minute, and with none after it', async () => {
      const body = { email: someone(), password: PASSWORD }
      const headers = { 'idempotency-key': `register-${body.email}` }
      const first = await register(body, headers)
      assert.equal((await register(body, headers)).text, first.text)
      app().clock.advance(60_000)
      await assertTaken(await register(body, headers))
      app().clock.advance(23 * 3_600_000)
      await assertTaken(await register(body, headers))
      assert.equal((await sessionsOf(body.email)).length, 1)
    })

    const endings: [what: string, end: (token: string, id: string, email: string) => Promise<unknown>][] = [
      [
        'the password was changed',
        (token) =>
          send(app(), 'POST /auth/change-password', {
            token,
            body: { currentPassword: PASSWORD, newPassword: 'another long passphrase' },
          }),
      ],
      ['the session was ended', (token) => send(app(), 'POST /auth/logout', { token })],
      ['the account was disabled', (_, __, email) => app().app.service('auth').users.disable(email)],
      [
        'the account was disabled for a while',
        async (_, __, email) => {
          await app().app.service('auth').users.disable(email)
          await app().app.service('auth').users.enable(email)
        },
      ],
      [
        'the address was locked',
        async (_, __, email) => {
          for (let i = 0; i < 5; i++) await login(app(), email, 'a wrong password')
        },
      ],
    ]
    for (const [what, end] of endings)
      testOnce(`gives its tokens no second time once ${what}`, async () => {
        const body = { email: someone(), password: PASSWORD }
        const headers = { 'idempotency-key': `register-${body.email}` }
        const { token, user } = (await register(body, headers)).body
        await end(token, user._id, body.email)
        const before = await sessionsOf(body.email)
        await assertTaken(await register(body, headers))
        assert.deepEqual(await sessionsOf(body.email), before)
      })

    test('makes another account once the first one was deleted', async () => {
      const body = { email: someone(), password: PASSWORD }
      const headers = { 'idempotency-key': `register-${body.email}` }
      const first = (await register(body, headers)).body
      await send(app(), 'DELETE /auth/me', { token: first.token, body: { password: PASSWORD } })
      const again = await register(body, headers)
      assert.equal(again.status, 201)
      assert.notEqual(again.body.user._id, first.user._id)
      assert.equal(again.headers.get('idempotency-replayed'), null)
      assert.equal((await me(app(), first.token)).status, 401)
    })

    const silences: [when: string, pass: (email: string) => unknown][] = [
      ['after a minute', () => app().clock.advance(60_000)],
      [
        'while the address is locked',
        async (email) => {
          for (let i = 0; i < 5; i++) await login(app(), email, 'a wrong password')
        },
      ],
    ]
    for (const [when, pass] of silences)
      testOnce(`tells nobody who knows its key which password is right, ${when}`, async (t) => {
        const body = { email: someone(), password: PASSWORD }
        const headers = { 'idempotency-key': `register-${body.email}` }
        assert.equal((await register(body, headers)).status, 201)
        await pass(body.email)

        /** What a guess is answered, another one while it is under way, and a third one afterwards. */
        async function guess(password: string): Promise<unknown> {
          const [hashing, mayHash] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
          let hashes = 0
          const { hash } = bcrypt
          const { mock } = t.mock.method(bcrypt, 'hash', async (...of: Parameters<typeof hash>) => {
            hashing.resolve()
            if (++hashes > 1) mayHash.resolve()
            await mayHash.promise
            return hash(...of)
          })
          const attempt = () => register({ ...body, password }, headers)
          const first = attempt()
          await Promise.race([hashing.promise, first])
          const second = await attempt()
          mayHash.resolve()
          const replies = [await first, second, await attempt()]
          mock.restore()
          return {
            hashes,
            answers: replies.map((reply) => [
              reply.status,
              reply.text,
              reply.headers.get('idempotency-replayed'),
              reply.headers.get('retry-after'),
            ]),
          }
        }
        const wrong = await guess('a wrong password')
        assert.deepEqual(await guess(PASSWORD), wrong)
      })

    /** No tokens, and no sign of what became of the account. */
    async function assertTaken({ status, code, text }: AuthReply): Promise<void> {
      assert.deepEqual([status, code], [409, 'EMAIL_TAKEN'])
      assert.doesNotMatch(text, /oken"/)
    }
    const sessionsOf = (email: string) =>
      app().app.db.all(sql`
        select s.id from auth_sessions s join auth_users u on u.id = s.user_id where u.email_key = ${email}`)

    test('goes on after a crash between the account and its answer', async () => {
      const body = { email: someone(), password: PASSWORD }
      const key = `register-${body.email}`
      const first = await register(body, { 'idempotency-key': key })
      // As a process leaves it that died before the answer was kept.
      await app().app.db.write(
        sql`update sixwire_idempotency set answer = null, lease_until = 0 where key = ${key}`,
      )
      const again = await register(body, { 'idempotency-key': key })
      assert.equal(again.status, 201)
      assert.deepEqual(again.body.user, first.body.user)
      assert.notEqual(again.body.token, first.body.token)
      assert.equal((await register(body)).code, 'EMAIL_TAKEN')
    })

    test('opens nothing after such a crash for another password, or while the address is locked', async () => {
      const body = { email: someone(), password: PASSWORD }
      const key = `register-${body.email}`
      const headers = { 'idempotency-key': key }
      await register(body, headers)
      const crash = () =>
        app().app.db.write(
          sql`update sixwire_idempotency set answer = null, lease_until = 0 where key = ${key}`,
        )
      await crash()
      const before = await sessionsOf(body.email)
      await assertTaken(await register({ ...body, password: 'a wrong password' }, headers))
      for (let i = 0; i < 5; i++) await login(app(), body.email, 'a wrong password')
      await assertTaken(await register(body, headers))
      assert.deepEqual(await sessionsOf(body.email), before)
      // Nobody is lost by it.
      app().clock.advance(900_000)
      assert.equal((await login(app(), body.email)).status, 200)
    })

    testOnce('opens nothing with a password that was changed since', async () => {
      const body = { email: someone(), password: PASSWORD }
      const key = `register-${body.email}`
      const { token } = (await register(body, { 'idempotency-key': key })).body
      await app().app.db.write(
        sql`update sixwire_idempotency set answer = null, lease_until = 0 where key = ${key}`,
      )
      const change = { currentPassword: PASSWORD, newPassword: 'another long passphrase' }
      assert.equal((await send(app(), 'POST /auth/change-password', { token, body: change })).status, 200)
      assert.equal((await register(body, { 'idempotency-key': key })).code, 'EMAIL_TAKEN')
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    testOnce('is refused while it is closed', async (t) => {
      const app = await startApp(t, engine, { config: { auth: { registration: 'closed' } } })
      const answered = await send(app, 'POST /auth/register', {
        body: { email: 'a@example.com', password: PASSWORD },
      })
      assert.deepEqual([answered.status, answered.code], [403, 'REGISTRATION_CLOSED'])
    })

    test('makes exactly one of the first accounts an administrator', async (t) => {
      const apps = await startReplicas(t, engine)
      // Connections that are open already let the requests meet in the database.
      await Promise.all(apps.flatMap((app) => times(10, () => app.app.db.scan(sql`select 1 as one`))))
      const people = await Promise.all(times(12, (i) => apps[i % 2]!.register()))
      const roles = await Promise.all(
        people.map(async ({ token }) => (await me(apps[0], token)).body.user.role),
      )
      assert.equal(roles.filter((role) => role === 'admin').length, 1)
      const { token } = await apps[0].register()
      assert.equal((await me(apps[0], token)).body.user.role, 'user')
    })

    testOnce('makes nobody an administrator in production', async (t) => {
      const app = await startApp(t, engine, { environment: { NODE_ENV: 'production' } })
      const { token } = await app.register()
      assert.equal((await me(app, token)).body.user.role, 'user')
    })

    testOnce('makes an address of SIXWIRE_ADMINS an administrator once it is verified', async (t) => {
      const app = await startApp(t, engine, { environment: { SIXWIRE_ADMINS: 'Root@Example.com' } })
      const other = await app.register('first@example.com')
      const { _id, token } = await app.register('ROOT@example.com')
      assert.equal((await me(app, token)).body.user.role, 'user')
      await app.app.db.write(sql`update auth_users set email_verified_at = 1`)
      const { user } = (await me(app, token)).body
      assert.deepEqual([user._id, user.role, user.emailVerified], [_id, 'admin', true])
      assert.equal((await me(app, other.token)).body.user.role, 'user')
    })

    testOnce('applies the configured length of passwords', async (t) => {
      const app = await startApp(t, engine, { config: { auth: { local: { passwordMinLength: 12 } } } })
      const register = (password: string) =>
        send(app, 'POST /auth/register', { body: { email: 'a@example.com', password } })
      assert.equal((await register('eleven chrs')).status, 400)
      assert.equal((await register('twelve chars')).status, 201)
    })

    testOnce('stops the start if SIXWIRE_ADMINS has something that is not an address', async (t) => {
      await assert.rejects(startApp(t, engine, { environment: { SIXWIRE_ADMINS: 'root' } }), {
        name: 'StartError',
        message: 'SIXWIRE_ADMINS: "root" is not an email address',
      })
    })
  })
})
