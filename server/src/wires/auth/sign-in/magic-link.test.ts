import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { login, me, refresh, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue, startMailbox, tokenOf, withMail } from '../../../testing/mailbox.ts'

describe('a magic link', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    let people = 0
    const newAddress = () => `newcomer${++people}@example.com`
    const ask = (email: string) => send(app(), 'POST /auth/magic-link', { body: { email } })
    const use = (token: string) => send(app(), 'POST /auth/verify-magic-link', { body: { token } })

    async function linkToken(email: string): Promise<string> {
      assert.equal((await ask(email)).status, 200)
      return tokenOf(await started().mailbox.next(email), 'magic-link')
    }
    async function someone() {
      const person = await app().register()
      const token = tokenOf(await started().mailbox.next(person.email), 'verify')
      return { ...person, verify: () => send(app(), 'POST /auth/verify-email', { body: { token } }) }
    }

    testOnce('is answered alike for addresses with and without an account', async () => {
      const { email } = await someone()
      const stranger = newAddress()
      const [known, unknown] = [await ask(email), await ask(stranger)]
      assert.equal(known.status, 200)
      assert.ok(known.body.message.includes(email))
      assert.equal(unknown.text.replace(stranger, email), known.text)
    })

    testOnce('signs in to a verified account, which keeps its password and sessions', async () => {
      const { _id, email, token, verify } = await someone()
      assert.equal((await verify()).status, 200)
      const answered = await use(await linkToken(email))
      assert.equal(answered.status, 200)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      const { user, token: access, refreshToken, ...rest } = answered.body
      assert.deepEqual([user, rest], [{ _id, email }, {}])
      assert.equal((await me(app(), access)).status, 200)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
      assert.equal((await me(app(), token)).status, 200)
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('creates an account with an id of its own, also where another one is sent', async () => {
      const { _id: id, token: session } = await app().register()
      assert.equal((await send(app(), 'DELETE /auth/me', { token: session, body: {} })).status, 200)
      const token = await linkToken(newAddress())
      const created = await send(app(), 'POST /auth/verify-magic-link', { body: { token, id } })
      assert.equal(created.status, 200, created.text)
      assert.notEqual(created.body.user._id, id)
    })

    testOnce('that was sent before the password was changed opens nothing after it', async () => {
      const { email, token, verify, password } = await someone()
      await verify()
      const link = await linkToken(email)
      const changed = await send(app(), 'POST /auth/change-password', {
        token,
        body: { currentPassword: password, newPassword: 'another long passphrase' },
      })
      assert.equal(changed.status, 200)
      assert.equal((await use(link)).code, 'INVALID_TOKEN')
    })

    testOnce('shows no name that a stranger chose for an unverified address', async () => {
      const email = newAddress()
      const name = 'your account is shut, see evil.example'
      const registration = await send(app(), 'POST /auth/register', {
        body: { email, password: 'a long passphrase', name },
      })
      const { raw } = await started().mailbox.next(email)
      assert.doesNotMatch(raw, /evil/)
      assert.equal(registration.body.user.name, name)
    })

    test('takes an unverified account away from the person who registered it', async () => {
      const { _id, email, token, refreshToken } = await someone()
      const answered = await use(await linkToken(email))
      assert.equal(answered.status, 200)
      assert.equal(answered.body.user._id, _id)
      assert.equal((await me(app(), answered.body.token)).body.user.emailVerified, true)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await refresh(app(), refreshToken)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
    })

    testOnce('makes an account for an address that has none, with the address verified', async () => {
      const email = newAddress()
      const token = await linkToken(email)
      const { users } = app().app.service('auth')
      assert.equal(await users.find(email), undefined)
      const answered = await use(token)
      assert.equal(answered.status, 200)
      const { user } = (await me(app(), answered.body.token)).body
      const { createdAt: _, ...rest } = user
      assert.deepEqual(rest, {
        _id: answered.body.user._id,
        email,
        emailVerified: true,
        metadata: {},
        role: rest.role,
      })
      assert.equal((await login(app(), email, '')).code, 'INVALID_CREDENTIALS')
      const again = await use(await linkToken(email))
      assert.equal(again.body.user._id, answered.body.user._id)
    })

    test('opens the account that somebody registered in between, without their password', async () => {
      const email = newAddress()
      const token = await linkToken(email)
      const person = await app().register(email)
      const answered = await use(token)
      assert.equal(answered.body.user._id, person._id)
      assert.equal((await me(app(), person.token)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
    })

    test('works once, also of ten uses at the same moment', async () => {
      const email = newAddress()
      const token = await linkToken(email)
      const answered = await Promise.all(times(10, () => use(token)))
      assert.deepEqual(statuses(answered), { 200: 1, 400: 9 })
      for (const { status, code } of answered) if (status === 400) assert.equal(code, 'INVALID_TOKEN')
      const { body } = answered.find(({ status }) => status === 200)!
      assert.equal((await send(app(), 'GET /auth/sessions', { token: body.token })).body.sessions.length, 1)
    })

    testOnce('is used up by a POST only', async () => {
      const token = await linkToken(newAddress())
      for (const path of [`/auth/verify-magic-link?token=${token}`, `/auth/magic-link?token=${token}`])
        assert.equal((await send(app(), `GET ${path}`)).status, 405)
      assert.equal((await use(token)).status, 200)
    })

    test('expires after a quarter of an hour, and with a newer one', async () => {
      const email = newAddress()
      const token = await linkToken(email)
      app().clock.advance(14 * 60_000)
      assert.equal((await use(token)).status, 200)
      const older = await linkToken(email)
      const newer = await linkToken(email)
      assert.equal((await use(older)).code, 'INVALID_TOKEN')
      app().clock.advance(15 * 60_000)
      assert.equal((await use(newer)).code, 'INVALID_TOKEN')
    })

    test('leaves one that works when several are asked for at the same moment', async () => {
      const email = newAddress()
      await Promise.all(times(4, () => ask(email)))
      await quietQueue(app())
      const tokens = started()
        .mailbox.mails.filter(({ to }) => to.includes(email))
        .map((mail) => tokenOf(mail, 'magic-link'))
      assert.equal(tokens.length, 4)
      const answered = []
      for (const token of tokens) answered.push(await use(token))
      assert.deepEqual(statuses(answered), { 200: 1, 400: 3 })
    })

    testOnce('does nothing for a disabled account', async () => {
      const { email } = await someone()
      const token = await linkToken(email)
      await app().app.service('auth').users.disable(email)
      assert.deepEqual([(await use(token)).status, (await use(token)).code], [400, 'INVALID_TOKEN'])
      const { length } = started().mailbox.mails
      assert.equal((await ask(email)).status, 200)
      await quietQueue(app())
      assert.equal(started().mailbox.mails.length, length)
    })

    testOnce('works once under an Idempotency-Key as well: no answer with tokens is kept', async () => {
      const token = await linkToken(newAddress())
      const headers = { 'idempotency-key': `key-${people}` }
      const again = () => send(app(), 'POST /auth/verify-magic-link', { body: { token }, headers })
      assert.equal((await again()).status, 200)
      assert.equal((await again()).code, 'INVALID_TOKEN')
    })

    testOnce('is sent once where the request for it is repeated under the same key', async () => {
      const email = newAddress()
      const headers = { 'idempotency-key': `ask-${people}` }
      for (let i = 0; i < 3; i++)
        assert.equal((await send(app(), 'POST /auth/magic-link', { body: { email }, headers })).status, 200)
      await quietQueue(app())
      assert.equal(started().mailbox.mails.filter(({ to }) => to.includes(email)).length, 1)
    })

    testOnce('is asked for with an address, and nothing that looks like one', async () => {
      for (const email of [
        '',
        'x',
        'a@b',
        'a@example.com,b@example.com',
        'a@example.com\r\nBcc: b@example.com',
      ])
        for (const route of ['POST /auth/magic-link', 'POST /auth/forgot-password']) {
          const answered = await send(app(), route, { body: { email } })
          assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], JSON.stringify(email))
          assert.equal(answered.body.error.details!.issues[0]!.path, '/body/email')
        }
    })
  })

  someEngine((engine) => {
    test('makes no account while registration is closed, and is then sent to accounts only', async (t) => {
      const mailbox = await startMailbox(t)
      const databaseUrl = await engine.migratedUrl()
      const open = await startApp(t, engine, withMail(mailbox, { databaseUrl }))
      const { email } = await open.register()
      await mailbox.next(email)
      await send(open, 'POST /auth/magic-link', { body: { email: 'late@example.com' } })
      const late = tokenOf(await mailbox.next('late@example.com'), 'magic-link')
      await open.stop()

      const closed = await startApp(
        t,
        engine,
        withMail(mailbox, { databaseUrl, config: { auth: { registration: 'closed' } } }),
      )
      const use = (token: string) => send(closed, 'POST /auth/verify-magic-link', { body: { token } })
      assert.equal((await use(late)).code, 'REGISTRATION_CLOSED')
      for (const address of ['other@example.com', email])
        assert.equal((await send(closed, 'POST /auth/magic-link', { body: { email: address } })).status, 200)
      assert.equal((await use(tokenOf(await mailbox.next(email), 'magic-link'))).status, 200)
      await quietQueue(closed)
      assert.deepEqual(
        mailbox.mails.filter(({ to }) => to.includes('other@example.com')),
        [],
      )
    })

    test('makes the first account outside production an administrator', async (t) => {
      const mailbox = await startMailbox(t)
      const app = await startApp(t, engine, withMail(mailbox))
      await send(app, 'POST /auth/magic-link', { body: { email: 'First@example.com' } })
      const token = tokenOf(await mailbox.next('First@example.com'), 'magic-link')
      const { body } = await send(app, 'POST /auth/verify-magic-link', { body: { token } })
      const { email, role } = (await me(app, body.token)).body.user
      assert.deepEqual([email, role], ['First@example.com', 'admin'])
    })
  })
})
