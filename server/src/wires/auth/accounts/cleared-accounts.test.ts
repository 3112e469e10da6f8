// Verifying the address of an account removes what was set up before by a person who had not verified it.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from '../../../db/sql.ts'
import type { TestApp } from '../../../testing/app.ts'
import { addFactor, login, me, PASSWORD, send, times } from '../../../testing/auth.ts'
import { eachEngine, endOfSuite, someEngine, testOnOne } from '../../../testing/engines.ts'
import { codeOf, tokenOf } from '../../../testing/mailbox.ts'
import { personOf } from '../../../testing/provider-login.ts'
import { startWithIssuer, type WithIssuer } from '../sign-in/identity-providers/idpa.fixture.ts'
import { appWithTexts, newNumber } from '../messages/sms.fixture.ts'

const TABLES = ['auth_totp', 'auth_recovery_codes', 'auth_trusted_devices', 'auth_phones']

/** Every way in that its owner did not set up. */
async function squat(app: TestApp, userId: string): Promise<void> {
  await addFactor(app, userId)
  await app.app.db.batch([
    sql`insert into auth_recovery_codes (user_id, salt, hash) values (${userId}, 'salt', 'hash')`,
    sql`insert into auth_trusted_devices
          (id, hash, user_id, credentials_version, ip, user_agent, created_at, last_used_at, expires_at)
        values (${userId}, ${userId}, ${userId}, 1, '', '', 0, 0, 9e15)`,
    sql`insert into auth_phones (phone, user_id, verified_at) values (${newNumber()}, ${userId}, 0)`,
  ])
}

/** The ways in that are left. */
async function waysInto({ app }: TestApp, userId: string): Promise<string[]> {
  const ways = []
  for (const table of TABLES)
    if (await app.db.get(sql`select 1 as found from ${sql.literal(table)} where user_id = ${userId}`))
      ways.push(table)
  const user = await app.db.get(
    sql<{ second_factor_at: number | null }>`select second_factor_at from auth_users where id = ${userId}`,
  )
  return user!.second_factor_at === null ? ways : [...ways, 'second_factor_at']
}

const ALL = [...TABLES, 'second_factor_at']

describe('an account whose address was not verified', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const { app, mailbox, add, prove, lastCode } = appWithTexts(engine)
    const post = (route: string, body: object) => send(app(), `POST /auth/${route}`, { body })

    async function squatted() {
      const person = await app().register()
      await squat(app(), person._id)
      return { ...person, verification: tokenOf(await mailbox().next(person.email), 'verify') }
    }

    test('loses factors and phone number by the link and by the code of an email', async () => {
      for (const use of ['link', 'code']) {
        const { _id, email } = await squatted()
        assert.deepEqual(await waysInto(app(), _id), ALL)
        await post('magic-link', { email })
        const mail = await mailbox().next(email)
        const answered =
          use === 'link'
            ? await post('verify-magic-link', { token: tokenOf(mail, 'magic-link') })
            : await post('verify-code', { email, code: codeOf(mail) })
        assert.equal(answered.status, 200, answered.text)
        assert.equal(answered.body.user._id, _id)
        assert.deepEqual(await waysInto(app(), _id), [])
      }
    })

    test('loses them where its password is reset', async () => {
      const { _id, email } = await squatted()
      await post('forgot-password', { email })
      const token = tokenOf(await mailbox().next(email), 'reset')
      assert.equal((await post('reset-password', { token, password: PASSWORD })).status, 200)
      assert.deepEqual(await waysInto(app(), _id), [])
      assert.equal((await login(app(), email)).status, 200)
    })

    testOnce('keeps them where the address is verified and the password stays', async () => {
      const { _id, email, verification } = await squatted()
      assert.equal((await post('verify-email', { token: verification })).status, 200)
      assert.deepEqual(await waysInto(app(), _id), ALL)
      // They are its owner's now: neither link nor reset passes them.
      await post('magic-link', { email })
      const link = tokenOf(await mailbox().next(email), 'magic-link')
      assert.equal((await post('verify-magic-link', { token: link })).code, 'SECOND_FACTOR_REQUIRED')
      await post('forgot-password', { email })
      const token = tokenOf(await mailbox().next(email), 'reset')
      assert.equal((await post('reset-password', { token, password: PASSWORD })).status, 200)
      assert.equal((await login(app(), email)).code, 'SECOND_FACTOR_REQUIRED')
      assert.deepEqual(await waysInto(app(), _id), ALL)
    })

    test('has no number that was proven at the moment of the link', async () => {
      await Promise.all(
        times(8, async (i) => {
          const { email, token } = await app().register()
          await mailbox().next(email)
          const phone = newNumber()
          await add(token, phone)
          const code = await lastCode(phone)
          await post('magic-link', { email })
          const link = tokenOf(await mailbox().next(email), 'magic-link')
          const proven = prove(token, code)
          await delay(i * 5)
          const answered = await post('verify-magic-link', { token: link })
          await proven
          assert.equal(answered.status, 200, answered.text)
          assert.equal('phone' in (await me(app(), answered.body.token)).body.user, false)
        }),
      )
    })
  })

  someEngine((engine) => {
    const ending = endOfSuite()
    let started: WithIssuer
    before(async () => {
      started = await startWithIssuer(ending, engine)
    })

    test('loses factors and phone number once its identity provider has verified the address', async () => {
      const { app, issuer, signIn } = started
      issuer.people.set('later', { email: 'later@example.com', email_verified: false })
      const { _id } = await personOf(app, await signIn('later'))
      await squat(app, _id)
      issuer.people.set('later', { email: 'later@example.com', email_verified: true })
      assert.equal((await personOf(app, await signIn('later')))._id, _id)
      assert.deepEqual(await waysInto(app, _id), [])
    })
  })
})
