import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { addFactor, login, me, refresh, send, statuses, times, wrongCode } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithTexts, newNumber } from '../messages/sms.fixture.ts'

const BROWSER = 'the browser that asked for it'
const LOCK_OFF = { config: { auth: { local: { maxLoginAttempts: 1000 } } } }

describe('a code by SMS', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const { app, textsTo, lastCode, ask, type, someone, askFor } = appWithTexts(engine)

    testOnce('signs in to the account that has proven the number, once', async () => {
      const { _id, email, token, phone } = await someone()
      const code = await askFor(phone)
      const answered = await type(phone, code)
      assert.equal(answered.status, 200, answered.text)
      assert.equal(answered.headers.get('cache-control'), 'no-store')
      const { user, token: access, refreshToken, ...rest } = answered.body
      assert.deepEqual([user, rest], [{ _id, email }, {}])
      assert.equal((await me(app(), access)).body.user.phone, phone)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
      assert.equal((await me(app(), token)).status, 200)
      assert.equal((await type(phone, code)).code, 'INVALID_CODE')
    })

    testOnce('is asked for and refused alike for every number, and sent to proven ones only', async () => {
      const [known, silent] = [await someone(), await someone()]
      const stranger = newNumber()
      const replies = [await ask(known.phone), await ask(stranger)]
      assert.deepEqual(statuses(replies), { 200: 2 })
      assert.equal(replies[0]!.text.replace(known.phone, stranger), replies[1]!.text)
      assert.deepEqual(await textsTo(stranger), [])
      const code = await lastCode(known.phone)
      for (const [status, count] of [
        [401, 5],
        [423, 1],
      ] as const)
        for (let i = 0; i < count; i++) {
          const answered = []
          for (const phone of [known.phone, silent.phone, stranger, newNumber()].slice(
            0,
            status === 401 ? 4 : 3,
          ))
            answered.push(await type(phone, wrongCode(code)))
          assert.deepEqual(statuses(answered), { [status]: answered.length })
          assert.equal(new Set(answered.map(({ text }) => text)).size, 1)
        }
    })

    test('that is wrong locks the number, and not the address', async () => {
      const { email, phone } = await someone()
      const code = await askFor(phone)
      for (let i = 0; i < 5; i++) assert.equal((await type(phone, wrongCode(code))).status, 401)
      assert.equal((await type(phone, code)).code, 'ACCOUNT_LOCKED')
      assert.equal((await login(app(), email)).status, 200)
    })

    test('is void once a newer one was sent, and expires after ten minutes', async () => {
      const { phone } = await someone()
      const older = await askFor(phone)
      const newer = await askFor(phone)
      if (newer !== older) assert.equal((await type(phone, older)).code, 'INVALID_CODE')
      app().clock.advance(10 * 60_000)
      assert.equal((await type(phone, newer)).code, 'INVALID_CODE')
    })

    testOnce('is sent three times an hour at most, the proof of the number among them', async () => {
      const { phone } = await someone()
      for (let i = 0; i < 4; i++) assert.equal((await ask(phone)).status, 200)
      assert.equal((await textsTo(phone)).length, 3)
      app().clock.advance(20 * 60_000)
      await ask(phone)
      assert.equal((await textsTo(phone)).length, 4)
    })

    testOnce('is challenged where the account has a second factor, and is used', async () => {
      const { _id, phone } = await someone()
      const code = await askFor(phone)
      await addFactor(app(), _id)
      assert.equal((await type(phone, code)).code, 'SECOND_FACTOR_REQUIRED')
      assert.equal((await type(phone, code)).code, 'INVALID_CODE')
    })

    test('opens nothing once the account is disabled, its password changed or its number removed', async () => {
      for (const change of [
        ({ email }: { email: string }) => app().app.service('auth').users.disable(email),
        ({ email }: { email: string }) =>
          app().app.service('auth').users.setPassword(email, 'another long passphrase'),
        ({ token }: { token: string }) => send(app(), 'DELETE /auth/phone', { token }),
      ]) {
        const person = await someone()
        const code = await askFor(person.phone)
        await change(person)
        assert.equal((await type(person.phone, code)).code, 'INVALID_CODE')
      }
    })

    testOnce('is not sent to a disabled account', async () => {
      const { email, phone } = await someone()
      await app().app.service('auth').users.disable(email)
      assert.equal((await ask(phone)).status, 200)
      assert.equal((await textsTo(phone)).length, 1)
    })

    test('makes one session of fifty uses at the same moment', async () => {
      const { phone } = await someone()
      const code = await askFor(phone)
      const answered = await Promise.all(times(50, () => type(phone, code)))
      assert.deepEqual(statuses(answered), { 200: 1, 401: 5, 423: 24, 429: 20 })
    })
  })

  someEngine((engine) => {
    const { app, type, someone, askFor } = appWithTexts(engine, LOCK_OFF)

    test('has thirty attempts a day, whatever the lock allows', async () => {
      const { phone } = await someone()
      const code = await askFor(phone)
      const answered = await Promise.all(times(50, () => type(phone, wrongCode(code))))
      assert.deepEqual(statuses(answered), { 401: 30, 429: 20 })
      app().clock.advance(48 * 60_000)
      assert.equal((await type(phone, await askFor(phone))).status, 200)
      assert.equal((await type(phone, '123456')).code, 'RATE_LIMITED')
    })

    test('works in the browser that requested it only; others use up no attempts', async () => {
      const { phone } = await someone()
      const code = await askFor(phone, BROWSER)
      for (const browser of [undefined, 'another browser, not that'])
        for (let i = 0; i < 5; i++) assert.equal((await type(phone, code, browser)).code, 'INVALID_CODE')
      assert.equal((await type(phone, code, BROWSER)).status, 200)
    })
  })
})
