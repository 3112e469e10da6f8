import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { login, me, PASSWORD, refresh, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue, tokenOf } from '../../../testing/mailbox.ts'

const NEW_PASSWORD = 'another horse battery'

describe('a forgotten password', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    const forget = (email: string) => send(app(), 'POST /auth/forgot-password', { body: { email } })
    const reset = (token: string, password = NEW_PASSWORD) =>
      send(app(), 'POST /auth/reset-password', { body: { token, password } })

    /** An account whose verification mail was taken out of the mailbox. */
    async function someone(email?: string) {
      const person = await app().register(email)
      await started().mailbox.next(person.email)
      return person
    }
    async function resetToken(email: string): Promise<string> {
      assert.equal((await forget(email)).status, 200)
      return tokenOf(await started().mailbox.next(email), 'reset')
    }

    testOnce('is changed by the link in the mail, which leads to the frontend only', async () => {
      const { email } = await someone()
      const reply = await app().request('POST', '/auth/forgot-password', {
        body: { email },
        headers: { host: 'evil', 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' },
      })
      assert.equal(reply.status, 200)
      const mail = await started().mailbox.next(email)
      assert.doesNotMatch(mail.raw, /evil/)
      assert.equal((await reset(tokenOf(mail, 'reset'))).status, 200)
      assert.equal((await login(app(), email, NEW_PASSWORD)).status, 200)
      assert.equal((await login(app(), email)).code, 'INVALID_CREDENTIALS')
    })

    testOnce('answers the same bytes for an address without an account, which gets no mail', async () => {
      const { email } = await someone()
      const known = await forget(email)
      const unknown = await forget('nobody.at.all@example.com')
      assert.deepEqual([unknown.status, unknown.text], [known.status, known.text])
      await started().mailbox.next(email)
      await quietQueue(app())
      assert.deepEqual(
        started().mailbox.mails.filter(({ to }) => to.includes('nobody.at.all@example.com')),
        [],
      )
    })

    testOnce('goes to the address as the account keeps it', async () => {
      const { email } = await someone('Upper.Case@example.com')
      await forget('upper.CASE@EXAMPLE.com')
      tokenOf(await started().mailbox.next(email), 'reset')
    })

    test('ends all sessions, verifies the address, and tells the owner', async () => {
      const { email, token, refreshToken } = await someone()
      const other = (await login(app(), email)).body
      assert.equal((await reset(await resetToken(email))).status, 200)
      for (const session of [{ token, refreshToken }, other]) {
        assert.equal((await me(app(), session.token)).status, 401)
        assert.equal((await refresh(app(), session.refreshToken)).status, 401)
      }
      const signedIn = await login(app(), email, NEW_PASSWORD)
      assert.equal((await me(app(), signedIn.body.token)).body.user.emailVerified, true)
      const notice = await started().mailbox.next(email)
      assert.match(notice.parsed.subject!, /password/i)
      assert.doesNotMatch(notice.raw, /token=/)
    })

    testOnce('unlocks the address when it is reset', async () => {
      const { email } = await someone()
      const resetting = await resetToken(email)
      for (let i = 0; i < 6; i++) await login(app(), email, 'wrong horse battery')
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      assert.equal((await reset(resetting)).status, 200)
      assert.equal((await login(app(), email, NEW_PASSWORD)).status, 200)
    })

    test('works once, also of ten at the same moment', async () => {
      const { email } = await someone()
      const token = await resetToken(email)
      const answered = await Promise.all(times(10, (i) => reset(token, `${NEW_PASSWORD} ${i}`)))
      assert.deepEqual(statuses(answered), { 200: 1, 400: 9 })
      for (const { status, code } of answered) if (status === 400) assert.equal(code, 'INVALID_TOKEN')
      const winner = answered.findIndex(({ status }) => status === 200)
      assert.equal((await login(app(), email, `${NEW_PASSWORD} ${winner}`)).status, 200)
    })

    testOnce('keeps its link valid if the new password is refused', async () => {
      const { email } = await someone()
      const token = await resetToken(email)
      for (const bad of ['short', 'password1', 'a'.repeat(73), email.toUpperCase()]) {
        const refused = await reset(token, bad)
        assert.deepEqual([refused.status, refused.code], [400, 'VALIDATION_ERROR'])
        assert.equal(refused.body.error.details!.issues[0]!.path, '/body/password')
      }
      assert.equal((await reset(token)).status, 200)
    })

    test('has links that a newer one, a change of the password, or the time makes void', async () => {
      const one = await someone()
      const older = await resetToken(one.email)
      const newer = await resetToken(one.email)
      assert.equal((await reset(older)).code, 'INVALID_TOKEN')
      const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
      assert.equal((await send(app(), 'POST /auth/change-password', { token: one.token, body })).status, 200)
      assert.equal((await reset(newer)).code, 'INVALID_TOKEN')

      const two = await someone()
      const early = await resetToken(two.email)
      app().clock.advance(3_600_000 - 60_000)
      assert.equal((await reset(early)).status, 200)
      const late = await resetToken((await someone()).email)
      await quietQueue(app()) // otherwise its call passes its limit, and the mail is sent again
      app().clock.advance(3_600_000)
      assert.equal((await reset(late)).code, 'INVALID_TOKEN')
      assert.equal((await reset('never.sent')).code, 'INVALID_TOKEN')
    })

    testOnce('of a disabled account cannot be reset', async () => {
      const { email } = await someone()
      const token = await resetToken(email)
      const { users } = app().app.service('auth')
      await users.disable(email)
      assert.equal((await reset(token)).code, 'INVALID_TOKEN')
      const { length } = started().mailbox.mails
      assert.equal((await forget(email)).status, 200)
      await quietQueue(app())
      assert.equal(started().mailbox.mails.length, length)
      await users.enable(email)
      assert.equal((await reset(token)).code, 'INVALID_TOKEN')
    })

    test('sends five mails an address and hour, and gives the same answer beyond', async () => {
      const { email } = await someone()
      const answered = []
      for (let i = 0; i < 4; i++) {
        answered.push(await forget(i % 2 ? email : email.toUpperCase()))
        await quietQueue(app())
      }
      answered.push(...(await Promise.all(times(5, () => forget(email)))))
      assert.equal(new Set(answered.map(({ status, text }) => `${status} ${text}`)).size, 1)
      await quietQueue(app())
      const arrived = () => started().mailbox.mails.filter(({ to }) => to.includes(email)).length
      assert.equal(arrived(), 6) // and that of the registration
      // From then on one every twelve minutes, and five at once again after an hour without any.
      for (const [pauseMs, mails] of [
        [720_000, 1],
        [3_600_000, 5],
      ] as const) {
        const before = arrived()
        app().clock.advance(pauseMs)
        await Promise.all(times(7, () => forget(email)))
        await quietQueue(app())
        assert.equal(arrived() - before, mails)
      }
    })

    testOnce('is mailed also where strangers have used up every other kind of mail', async () => {
      const { email, token } = await someone()
      const ask = (route: string) => send(app(), route, { token, body: { email } })
      await Promise.all(times(6, () => ask('POST /auth/magic-link')))
      await Promise.all(times(6, () => ask('POST /auth/resend-verification')))
      await quietQueue(app())
      await forget(email)
      await quietQueue(app())
      const arrived = started().mailbox.mails.filter(({ to }) => to.includes(email))
      assert.equal(arrived.length, 1 + 5 + 5 + 1)
      assert.equal((await reset(tokenOf(arrived.at(-1)!, 'reset'))).status, 200)
    })

    testOnce('leaves nothing in the database or the log that opens the account', async () => {
      const { email } = await someone('discreet@example.com')
      const token = await resetToken(email)
      await quietQueue(app())
      const tables = ['auth_mail_tokens', 'sixwire_rate_limits', 'sixwire_jobs', 'messaging_messages']
      const rows = await Promise.all(
        tables.map((name) => app().app.db.all(sql`select * from ${sql.literal(name)}`)),
      )
      assert.match(JSON.stringify(rows[0]), /discreet@example\.com/)
      assert.doesNotMatch(JSON.stringify(rows[1]), /example\.com/)
      assert.equal(JSON.stringify(rows).includes(token), false)
      await reset(token, 'a password of the discreet')
      assert.equal(app().log().includes(token), false)
      assert.equal(app().log().includes('a password of the discreet'), false)
    })
  })
})
