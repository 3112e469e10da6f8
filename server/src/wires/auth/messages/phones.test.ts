import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { appForAll, me, send, statuses, times, wrongCode } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithTexts, newNumber } from './sms.fixture.ts'

describe('the phone number of an account', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const { app, mailbox, textsTo, lastCode, add, prove, someone } = appWithTexts(engine)
    const remove = (token: string) => send(app(), 'DELETE /auth/phone', { token })

    testOnce('is proven by a code, shown by GET /auth/me, and told to the owner by email', async () => {
      const { email, token } = await app().register()
      await mailbox().next(email)
      const phone = newNumber()
      const asked = await add(token, phone)
      assert.equal(asked.status, 200, asked.text)
      const code = await lastCode(phone)
      assert.deepEqual(await textsTo(phone), [
        `${code} is your code for app. Nobody at app asks you for it.\n\n@app.example #${code}`,
      ])
      assert.equal('phone' in (await me(app(), token)).body.user, false)
      assert.equal((await prove(token, wrongCode(code))).code, 'INVALID_CODE')
      const proven = await prove(token, code)
      assert.deepEqual([proven.status, proven.body], [200, { phone }])
      assert.equal((await me(app(), token)).body.user.phone, phone)
      const { subject, parsed } = await mailbox().next(email)
      assert.match(subject, /^The phone number of your account/)
      assert.ok(parsed.text!.includes(`…${phone.slice(-3)}`) && !parsed.text!.includes(phone))
      assert.equal((await prove(token, code)).code, 'INVALID_CODE')
    })

    testOnce('is the same number with and without the prefix of calls in its country', async () => {
      const { token } = await app().register()
      await add(token, '+4407911123456')
      assert.deepEqual((await prove(token, await lastCode('+447911123456'))).body, {
        phone: '+447911123456',
      })
    })

    test('belongs to one account, which only the holder of the phone is told', async () => {
      const { token, phone } = await someone()
      const other = await app().register()
      assert.equal((await add(other.token, phone)).status, 200)
      const code = await lastCode(phone)
      assert.equal((await prove(other.token, wrongCode(code))).code, 'INVALID_CODE')
      const refused = await prove(other.token, code)
      assert.deepEqual([refused.status, refused.code], [409, 'CONFLICT'])
      assert.equal((await remove(token)).status, 200)
      assert.equal((await prove(other.token, code)).status, 200)
    })

    test('goes to one account where three prove it at the same moment', async () => {
      const phone = newNumber()
      const people = await Promise.all(times(3, () => app().register()))
      const codes: string[] = []
      for (const { token } of people) {
        await add(token, phone)
        codes.push(await lastCode(phone))
      }
      const answered = await Promise.all(people.map(({ token }, i) => prove(token, codes[i]!)))
      assert.deepEqual(statuses(answered), { 200: 1, 409: 2 })
    })

    test('is replaced by another one, and free for others then', async () => {
      const { token, phone } = await someone()
      const next = newNumber()
      await add(token, next)
      assert.equal((await prove(token, await lastCode(next))).status, 200)
      assert.equal((await me(app(), token)).body.user.phone, next)
      const other = await app().register()
      await add(other.token, phone)
      assert.equal((await prove(other.token, await lastCode(phone))).status, 200)
    })

    testOnce('is removed, which is told by email', async () => {
      const { email, token } = await someone()
      await mailbox().next(email)
      await mailbox().next(email)
      const removed = await remove(token)
      assert.equal(removed.status, 200, removed.text)
      assert.match((await mailbox().next(email)).parsed.text!, /was removed/)
      assert.equal('phone' in (await me(app(), token)).body.user, false)
      assert.deepEqual([(await remove(token)).status, (await remove(token)).code], [404, 'NOT_FOUND'])
    })

    testOnce('gets three texts an hour from all callers together; so does an account', async () => {
      const phone = newNumber()
      const { token } = await app().register()
      for (let i = 0; i < 3; i++) assert.equal((await add(token, phone)).status, 200)
      const others = await app().register()
      for (const [by, to] of [
        [others.token, phone],
        [token, newNumber()],
      ] as const) {
        const refused = await add(by, to)
        assert.deepEqual([refused.status, refused.code], [429, 'RATE_LIMITED'])
        assert.equal(refused.headers.get('retry-after'), '1200')
        assert.equal((await textsTo(to)).length, to === phone ? 3 : 0)
      }
      assert.equal((await add(others.token, newNumber())).status, 200)
      app().clock.advance(20 * 60_000)
      const { token: fresh } = await app().register()
      assert.equal((await add(fresh, phone)).status, 200)
    })

    testOnce('is proven by the code of the last text, within ten minutes and five attempts', async () => {
      const { token } = await app().register()
      const [one, other] = [newNumber(), newNumber()]
      await add(token, one)
      const older = await lastCode(one)
      await add(token, other)
      let newer = await lastCode(other)
      if (newer === older) {
        await add(token, other)
        newer = await lastCode(other)
      }
      assert.equal((await prove(token, older)).code, 'INVALID_CODE')
      for (let i = 0; i < 4; i++) assert.equal((await prove(token, wrongCode(newer))).code, 'INVALID_CODE')
      assert.equal((await prove(token, newer)).code, 'ACCOUNT_LOCKED')

      const late = await app().register()
      const phone = newNumber()
      await add(late.token, phone)
      const code = await lastCode(phone)
      app().clock.advance(10 * 60_000)
      const again = await send(app(), 'POST /auth/login', { body: late })
      assert.equal((await prove(again.body.token, code)).code, 'INVALID_CODE')
    })

    testOnce('is changed only within ten minutes of a proof of who the user is', async () => {
      const { token } = await app().register()
      app().clock.advance(10 * 60_000)
      for (const answered of [
        await add(token, newNumber()),
        await prove(token, '123456'),
        await remove(token),
      ])
        assert.deepEqual([answered.status, answered.code], [403, 'RECENT_SIGN_IN_REQUIRED'])
      assert.equal((await send(app(), 'POST /auth/phone', { body: { phone: newNumber() } })).status, 401)
    })

    testOnce('is a number in E.164', async () => {
      const { token } = await app().register()
      for (const phone of ['', '0151 12345678', '+1', 'sip:+4915112345678', '+49 151 12345678']) {
        const answered = await add(token, phone)
        assert.deepEqual([answered.status, answered.code], [400, 'VALIDATION_ERROR'], phone)
        assert.equal(answered.body.error.details!.issues[0]!.path, '/body/phone')
      }
    })

    testOnce('is a way to sign in that GET /auth/health names', async () => {
      assert.ok((await send(app(), 'GET /auth/health')).body.providers.includes('sms'))
    })
  })

  someEngine((engine) => {
    const app = appForAll(engine)

    test('is refused where no provider of SMS is configured', async () => {
      const { token } = await app().register()
      const body = { phone: newNumber() }
      for (const answered of [
        await send(app(), 'POST /auth/phone', { token, body }),
        await send(app(), 'POST /auth/sms-code', { body }),
      ]) {
        assert.deepEqual([answered.status, answered.code], [400, 'PROVIDER_NOT_CONFIGURED'])
        assert.match(answered.body.error.message, /TWILIO_FROM/)
      }
      assert.ok(!(await send(app(), 'GET /auth/health')).body.providers.includes('sms'))
    })
  })
})
