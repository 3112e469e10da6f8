import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import {
  addFactor,
  inDigitsFrom,
  login,
  me,
  refresh,
  send,
  startReplicas,
  statuses,
  times,
  wrongCode,
} from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import {
  appWithMailbox,
  codeOf,
  quietQueue,
  startMailbox,
  tokenOf,
  withMail,
} from '../../../testing/mailbox.ts'

const BROWSER = 'the browser that asked for it'
const LOCK_OFF = { config: { auth: { local: { maxLoginAttempts: 1000 } } } }

let people = 0
const newAddress = () => `typist${++people}@example.com`

const ask = (app: TestApp, email: string, browser?: string) =>
  send(app, 'POST /auth/magic-link', { body: { email, browser } })
const type = (app: TestApp, email: string, code: string, browser?: string) =>
  send(app, 'POST /auth/verify-code', { body: { email, code, browser } })
const follow = (app: TestApp, token: string, more: object = {}) =>
  send(app, 'POST /auth/verify-magic-link', { body: { token, ...more } })

/** What a server has to do with mails of links. */
function mailed(started: () => { app: TestApp; mailbox: Awaited<ReturnType<typeof startMailbox>> }) {
  const app = () => started().app
  async function askFor(email: string, browser?: string) {
    assert.equal((await ask(app(), email, browser)).status, 200)
    const mail = await started().mailbox.next(email)
    return { code: codeOf(mail), token: tokenOf(mail, 'magic-link'), mail }
  }
  /** An account with a verified address. */
  async function someone() {
    const person = await app().register()
    const token = tokenOf(await started().mailbox.next(person.email), 'verify')
    assert.equal((await send(app(), 'POST /auth/verify-email', { body: { token } })).status, 200)
    return person
  }
  return { app, askFor, someone }
}

describe('a code in the mail of a link', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const { app, askFor, someone } = mailed(started)

    testOnce('signs in where it is typed, with a space or without, in digits of any script', async () => {
      const { _id, email, token } = await someone()
      for (const written of [
        (code: string) => code,
        (code: string) => ` ${code.slice(0, 3)} ${code.slice(3)}`,
        (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`,
        (code: string) => inDigitsFrom('０', code),
        (code: string) => `${inDigitsFrom('٠', code)}\n`,
      ]) {
        const { code } = await askFor(email)
        const answered = await type(app(), email.toUpperCase(), written(code))
        assert.equal(answered.status, 200, answered.text)
        assert.equal(answered.headers.get('cache-control'), 'no-store')
        const { user, token: access, refreshToken, ...rest } = answered.body
        assert.deepEqual([user, rest], [{ _id, email }, {}])
        assert.equal((await me(app(), access)).status, 200)
        assert.equal((await refresh(app(), refreshToken)).status, 200)
      }
      assert.equal((await me(app(), token)).status, 200)
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('is copied as six digits where the mail is shown as HTML', async () => {
      const { code, mail } = await askFor(newAddress())
      const shown = `${code.slice(0, 3)}<span style="user-select: none"> </span>${code.slice(3)}`
      assert.ok(mail.parsed.html!.includes(shown), mail.parsed.html ?? '')
    })

    testOnce('makes an account for an address that has none, with the address verified', async () => {
      const email = newAddress()
      const { code } = await askFor(email)
      const answered = await type(app(), email, code)
      assert.equal(answered.status, 200)
      const { user } = (await me(app(), answered.body.token)).body
      assert.deepEqual([user.email, user.emailVerified], [email, true])
    })

    testOnce('takes an unverified account away from the person who registered it', async () => {
      const { _id, email, token } = await app().register()
      await started().mailbox.next(email)
      const { code } = await askFor(email)
      const answered = await type(app(), email, code)
      assert.deepEqual([answered.status, answered.body.user._id], [200, _id])
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
    })

    testOnce('expires after ten minutes; the link goes on', async () => {
      const email = newAddress()
      const askAndWait = async (ms: number) => {
        const sent = await askFor(email)
        await quietQueue(app())
        app().clock.advance(ms)
        return sent
      }
      assert.equal((await type(app(), email, (await askAndWait(9 * 60_000)).code)).status, 200)
      const late = await askAndWait(10 * 60_000)
      assert.equal((await type(app(), email, late.code)).code, 'INVALID_CODE')
      assert.equal((await follow(app(), late.token)).status, 200)
    })

    test('is void once a newer mail was sent, and works once', async () => {
      const email = newAddress()
      const older = await askFor(email)
      let newer = await askFor(email)
      while (newer.code === older.code) newer = await askFor(email)
      assert.equal((await type(app(), email, older.code)).code, 'INVALID_CODE')
      assert.equal((await type(app(), email, newer.code)).status, 200)
      assert.equal((await type(app(), email, newer.code)).code, 'INVALID_CODE')
    })

    test('voids the link, and the link voids it', async () => {
      const email = newAddress()
      const one = await askFor(email)
      assert.equal((await type(app(), email, one.code)).status, 200)
      assert.equal((await follow(app(), one.token)).code, 'INVALID_TOKEN')
      const other = await askFor(email)
      assert.equal((await follow(app(), other.token)).status, 200)
      assert.equal((await type(app(), email, other.code)).code, 'INVALID_CODE')
    })

    test('that is wrong counts as a wrong password does; the link works during the lock', async () => {
      const { email } = await someone()
      const { code, token } = await askFor(email)
      for (let i = 0; i < 3; i++) assert.equal((await login(app(), email, 'wrong horse battery')).status, 401)
      for (let i = 0; i < 2; i++) assert.equal((await type(app(), email, wrongCode(code))).status, 401)
      for (const answered of [await type(app(), email, code), await login(app(), email)]) {
        assert.equal(answered.code, 'ACCOUNT_LOCKED')
        assert.ok(Number(answered.headers.get('retry-after')) > 800)
      }
      assert.equal((await follow(app(), token)).status, 200)
    })

    testOnce('is refused alike whatever is wrong, and locked alike', async () => {
      const { email } = await someone()
      const silent = (await someone()).email
      const { code } = await askFor(email)
      for (const [status, count] of [
        [401, 5],
        [423, 2],
      ] as const)
        for (let i = 0; i < count; i++) {
          const answered = [
            await type(app(), email, wrongCode(code)),
            await type(app(), silent, '123456'),
            await type(app(), `nobody.of.${engine.name}@example.com`, '123456'),
          ]
          assert.deepEqual(statuses(answered), { [status]: 3 })
          assert.equal(new Set(answered.map(({ text }) => text)).size, 1, answered[0]!.text)
        }
    })

    test('makes one session of fifty uses at the same moment', async () => {
      const email = newAddress()
      const { code } = await askFor(email)
      const answered = await Promise.all(times(50, () => type(app(), email, code)))
      assert.deepEqual(statuses(answered), { 200: 1, 401: 5, 423: 24, 429: 20 })
      const { token } = answered.find(({ status }) => status === 200)!.body
      assert.equal((await send(app(), 'GET /auth/sessions', { token })).body.sessions.length, 1)
    })

    testOnce('does nothing for an account that was disabled, and is not sent to it', async () => {
      const { email } = await someone()
      const { code } = await askFor(email)
      await app().app.service('auth').users.disable(email)
      assert.equal((await type(app(), email, code)).code, 'INVALID_CODE')
      const { length } = started().mailbox.mails
      assert.equal((await ask(app(), email)).status, 200)
      await quietQueue(app())
      assert.equal(started().mailbox.mails.length, length)
    })

    testOnce('signs in to an account with a second factor only with that factor, and is used', async () => {
      const { _id, email } = await someone()
      const { code } = await askFor(email)
      await addFactor(app(), _id)
      const answered = await type(app(), email, code)
      assert.equal(answered.code, 'SECOND_FACTOR_REQUIRED')
      const [challenge] = await app().app.db.all(
        sql<{ method: string }>`select method from auth_challenges where user_id = ${_id}`,
      )
      assert.equal(challenge!.method, 'email-code')
      assert.equal((await type(app(), email, code)).code, 'INVALID_CODE')
    })

    testOnce('has six digits, and is of an address or a number', async () => {
      const email = newAddress()
      for (const [body, path] of [
        [{ email, code: '12345' }, '/body/code'],
        [{ email, code: '1234567' }, '/body/code'],
        [{ email, code: 123456 }, '/body/code'],
        [{ email, code: '½23456' }, '/body/code'],
        [{ code: '123456' }, '/body'],
        [{ email, phone: '+4915112345678', code: '123456' }, '/body'],
        [{ phone: '0151 12345678', code: '123456' }, '/body/phone'],
        [{ email, code: '123456', browser: 'short' }, '/body/browser'],
      ] as const) {
        const answered = await send(app(), 'POST /auth/verify-code', { body })
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body))
        assert.equal(answered.body.error.details!.issues[0]!.path, path)
      }
    })

    testOnce('counts in the lock also where it is typed in another browser', async () => {
      const email = newAddress()
      const { code } = await askFor(email, BROWSER)
      for (let i = 0; i < 5; i++) assert.equal((await type(app(), email, code)).status, 401)
      assert.equal((await type(app(), email, code, BROWSER)).code, 'ACCOUNT_LOCKED')
    })

    testOnce('comes with a link that asks for confirmation in another browser', async () => {
      const email = newAddress()
      const { token } = await askFor(email, BROWSER)
      for (const more of [{}, { browser: 'another browser, not that' }]) {
        const answered = await follow(app(), token, more)
        assert.deepEqual([answered.status, answered.code], [409, 'OTHER_BROWSER'])
      }
      assert.equal(await app().app.service('auth').users.find(email), undefined)
      assert.equal((await follow(app(), token, { browser: BROWSER })).status, 200)
      const other = await askFor(email, BROWSER)
      assert.equal((await follow(app(), other.token, { confirmed: true })).status, 200)
    })

    testOnce('comes with a link that asks for confirmation if no browser requested it', async () => {
      const email = newAddress()
      const { token } = await askFor(email)
      const answered = await follow(app(), token, { browser: BROWSER })
      assert.deepEqual([answered.status, answered.code], [409, 'OTHER_BROWSER'])
      assert.equal(await app().app.service('auth').users.find(email), undefined)
      assert.equal((await follow(app(), token, { browser: BROWSER, confirmed: true })).status, 200)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine, LOCK_OFF)
    const { app, askFor } = mailed(started)

    test('is good for five attempts; then only the link works', async () => {
      const email = newAddress()
      const one = await askFor(email)
      for (let i = 0; i < 4; i++) assert.equal((await type(app(), email, wrongCode(one.code))).status, 401)
      assert.equal((await type(app(), email, one.code)).status, 200)
      const other = await askFor(email)
      for (let i = 0; i < 5; i++) assert.equal((await type(app(), email, wrongCode(other.code))).status, 401)
      assert.equal((await type(app(), email, other.code)).code, 'INVALID_CODE')
      assert.equal((await follow(app(), other.token)).status, 200)
    })

    test('is checked five times of fifty wrong attempts at the same moment', async () => {
      const email = newAddress()
      const { code } = await askFor(email)
      const answered = await Promise.all(times(50, () => type(app(), email, wrongCode(code))))
      assert.deepEqual(statuses(answered), { 401: 30, 429: 20 })
      const row = await app().app.db.get(
        sql<{ code_attempts: number }>`select code_attempts from auth_mail_tokens where email_key = ${email}`,
      )
      assert.equal(row!.code_attempts, 5)
    })

    testOnce('works in the browser that requested it only; others use up no attempts', async () => {
      const email = newAddress()
      const { code } = await askFor(email, BROWSER)
      for (const browser of [undefined, 'another browser, not that'])
        for (let i = 0; i < 5; i++)
          assert.equal((await type(app(), email, code, browser)).code, 'INVALID_CODE')
      assert.equal((await type(app(), email, code, BROWSER)).status, 200)
    })
  })

  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    test('makes one session over two replicas at once', async (t) => {
      const mailbox = await startMailbox(t)
      const replicas = await startReplicas(t, engine, withMail(mailbox, LOCK_OFF))
      const email = newAddress()
      await ask(replicas[0], email)
      const code = codeOf(await mailbox.next(email))
      const answered = await Promise.all(times(20, (i) => type(replicas[i % 2]!, email, code)))
      assert.deepEqual(statuses(answered), { 200: 1, 401: 19 })
    })

    testOnce('creates no account while registration is closed, and reveals none', async (t) => {
      const mailbox = await startMailbox(t)
      const databaseUrl = await engine.migratedUrl()
      const open = await startApp(t, engine, withMail(mailbox, { databaseUrl }))
      const { email } = await open.register()
      await mailbox.next(email)
      const late = newAddress()
      await ask(open, late)
      const code = codeOf(await mailbox.next(late))
      await open.stop()

      const closed = await startApp(
        t,
        engine,
        withMail(mailbox, { databaseUrl, config: { auth: { registration: 'closed' } } }),
      )
      assert.equal((await type(closed, late, code)).code, 'REGISTRATION_CLOSED')
      const other = newAddress()
      for (const address of [email, other]) assert.equal((await ask(closed, address)).status, 200)
      const right = codeOf(await mailbox.next(email))
      await quietQueue(closed)
      const answered = [
        await type(closed, email, wrongCode(right)),
        await type(closed, other, wrongCode(right)),
      ]
      assert.deepEqual(statuses(answered), { 401: 2 })
      assert.equal(answered[0]!.text, answered[1]!.text)
      // The work is the same as well: both attempts were counted in a row.
      const rows = await closed.app.db.all(sql<{ code_attempts: number }>`
        select code_attempts from auth_mail_tokens where email_key in (${email}, ${other}) and used_at is null
          and purpose = 'magic-link'`)
      assert.deepEqual(
        rows.map(({ code_attempts }) => code_attempts),
        [1, 1],
      )
      assert.equal((await type(closed, email, right)).status, 200)
      assert.deepEqual(
        mailbox.mails.filter(({ to }) => to.includes(other)),
        [],
      )
    })
  })
})
