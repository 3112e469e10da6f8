import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { login, me, PASSWORD, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue, tokenOf } from '../../../testing/mailbox.ts'

describe('accounts that the operator creates', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const environment = { SIXWIRE_POLICY: 'guarded' }
    const started = appWithMailbox(engine, { environment, config: { auth: { registration: 'closed' } } })
    const users = () => started().app.app.service('auth').users
    const mailsTo = async (email: string) => {
      await quietQueue(started().app)
      return started().mailbox.mails.filter(({ to }) => to.includes(email))
    }

    testOnce('are verified, whatever closes registration', async () => {
      const account = await users().create({ email: 'Ada@Example.com', password: PASSWORD, role: 'admin' })
      const { email, role, emailVerified, disabled } = account
      assert.deepEqual([email, role, emailVerified, disabled], ['Ada@Example.com', 'admin', true, false])
      const { status, body } = await login(started().app, 'ada@example.com')
      assert.equal(status, 200)
      assert.equal((await started().app.request('GET', '/store/books', { token: body.token })).status, 200)
      assert.deepEqual(await mailsTo('Ada@Example.com'), [])
      await assert.rejects(users().create({ email: 'ada@example.com', password: PASSWORD }), {
        code: 'EMAIL_TAKEN',
      })
    })

    testOnce('are sent the link that verifies the address if they are to verify it', async () => {
      const email = 'eve@example.com'
      const created = await users().create({ email, password: PASSWORD, isVerified: false })
      assert.deepEqual([created.role, created.emailVerified], ['user', false])
      assert.ok(tokenOf((await mailsTo(email))[0]!, 'verify'))
    })

    testOnce('have a password by the rules of all, which is compared in NFKC', async () => {
      const email = 'carol@example.com'
      for (const [password, message] of [
        ['short', /^password: Use at least 8 characters/],
        ['password123', /commonest/],
        ['Carol@example.com', /your own email address/],
        ['x'.repeat(80), /at most 72 bytes/],
      ] as const) {
        await assert.rejects(users().create({ email, password }), { code: 'VALIDATION_ERROR', message })
        await assert.rejects(users().setPassword('ada@example.com', password.replace('Carol', 'Ada')), {
          code: 'VALIDATION_ERROR',
        })
      }
      await assert.rejects(users().create({ email: 'carol', password: PASSWORD }), {
        message: /^email: An|^email: Write one email address/,
      })
      await users().create({ email, password: 'cafe\u0301 and more' })
      assert.equal((await login(started().app, email, 'caf\u00e9 and more')).status, 200)
    })

    test('get another password: sessions end, a lock is lifted, and the owner is told', async () => {
      const email = 'dan@example.com'
      const { id } = await users().create({ email, password: PASSWORD })
      const { token } = (await login(started().app, email)).body
      const wrong = await Promise.all(times(6, () => login(started().app, email, 'wrong horse battery')))
      assert.deepEqual(statuses(wrong), { 401: 5, 423: 1 })
      assert.equal((await users().setPassword('Dan@example.com', 'quite another one')).id, id)
      assert.equal((await me(started().app, token)).status, 401)
      assert.equal((await login(started().app, email)).status, 401)
      assert.equal((await login(started().app, email, 'quite another one')).status, 200)
      assert.match((await mailsTo(email))[0]!.parsed.subject!, /password/i)
      const lines = started()
        .app.log()
        .split('\n')
        .filter((line) => line.includes(id))
      assert.ok(lines.some((line) => line.includes('"event":"password-changed"')))
      assert.ok(!started().app.log().includes('quite another one'))
      await assert.rejects(users().setPassword('nobody@example.com', PASSWORD), { code: 'NOT_FOUND' })
    })

    testOnce('are found by a part of their address', async () => {
      await users().create({ email: 'under_score@example.com', password: PASSWORD })
      const emailsMatching = async (email: string) =>
        (await users().list({ q: email })).accounts.map((account) => account.email)
      assert.deepEqual(await emailsMatching('UNDER_'), ['under_score@example.com'])
      assert.deepEqual(await emailsMatching('_d'), [])
      assert.deepEqual(await emailsMatching('%'), [])
      const { accounts, total } = await users().list({ q: '@example.com', limit: 1 })
      assert.equal(accounts.length, 1)
      assert.ok(total! > 1)
    })
  })
})
