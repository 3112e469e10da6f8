import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { appForAll } from '../../../server/src/testing/auth.ts'
import { anyEngine } from '../../../server/src/testing/engines.ts'
import {
  addAuthenticator,
  challenged,
  registerWithFactor,
  wrongCode,
} from '../../../server/src/testing/second-factor.ts'
import { createClient, isError, type ClientOptions, type SessionStorage } from '../index.ts'

const HOUR_MS = 3_600_000

function memory(): SessionStorage {
  const entries = new Map<string, string>()
  return {
    getItem: (key) => entries.get(key) ?? null,
    setItem: (key, value) => entries.set(key, value),
    removeItem: (key) => entries.delete(key),
  }
}

anyEngine((engine) => {
  describe('a second factor in the client', () => {
    const app = appForAll(engine)
    const client = (options?: ClientOptions) => createClient(app().url, { retries: 0, ...options })

    test('finishes the sign-in that needed it; a trusted device needs none later', async () => {
      const { authenticator, email, password } = await registerWithFactor(app())
      const storage = memory()
      const six = client({ storage })
      await assert.rejects(six.auth.secondFactor({ code: '123456' }), TypeError)
      const error = await six.auth.signIn({ email, password }).catch((caught: unknown) => caught)
      assert.ok(isError(error, 'SECOND_FACTOR_REQUIRED'))
      const { challenge, factors } = error.details
      assert.deepEqual([typeof challenge, factors], ['string', ['totp', 'recovery-code']])
      assert.equal(six.auth.user, undefined)
      await assert.rejects(six.auth.secondFactor({ code: wrongCode(authenticator, app()) }), {
        code: 'INVALID_CODE',
      })
      const user = await six.auth.secondFactor({ code: authenticator.code() }, { trustDevice: true })
      assert.deepEqual([user.email, six.auth.user], [email, user])
      await six.auth.signOut()

      const later = client({ storage })
      assert.equal(
        (await later.auth.signIn({ email: ` ${email.toUpperCase()}`.trim(), password })).email,
        email,
      )
      await later.auth.signOut()
      // A provider's callback does not tell whose challenge it is.
      const fragment = { challenge: await challenged(app(), email, password), factors: 'totp' }
      assert.equal((await later.auth.setSession(fragment)).email, email)
      const elsewhere = client()
      await assert.rejects(elsewhere.auth.setSession(fragment), { code: 'SECOND_FACTOR_REQUIRED' })
    })

    test('is asked for with the challenge that another client has got, and a recovery code is one', async () => {
      const { authenticator, email, password } = await registerWithFactor(app())
      const challenge = await challenged(app(), email, password)
      const [recoveryCode] = authenticator.recoveryCodes
      const six = client()
      const user = await six.auth.secondFactor({ recoveryCode: recoveryCode! }, { challenge })
      assert.equal(user.email, email)
      assert.equal((await six.auth.factors()).recoveryCodes, 9)
    })

    test('is not asked of another account on a device that one account trusts', async () => {
      const [first, second] = [await registerWithFactor(app()), await registerWithFactor(app())]
      const six = client({ storage: memory() })
      for (const { authenticator, email, password } of [first, second]) {
        await assert.rejects(six.auth.signIn({ email, password }), { code: 'SECOND_FACTOR_REQUIRED' })
        await six.auth.secondFactor({ code: authenticator.code() }, { trustDevice: true })
        await six.auth.signOut()
      }
      for (const { email, password } of [first, second]) {
        const user = await six.auth.signIn({ email, password })
        assert.equal(user.email, email)
      }
      // The newest is tried first, and then the other.
      const challenge = await challenged(app(), first.email, first.password)
      assert.equal((await six.auth.setSession({ challenge })).email, first.email)
    })

    test('that was added elsewhere is asked for by the next refresh, which signs nobody out', async () => {
      const { email, password, ...elsewhere } = await app().register()
      const six = client()
      await six.auth.signIn({ email, password })
      const heard: unknown[] = []
      six.auth.onChange((user) => heard.push(user?.email))
      const authenticator = await addAuthenticator(app(), elsewhere.token)
      app().clock.advance(HOUR_MS + 1_000)
      await assert.rejects(six.call('GET /auth/me'), { code: 'SECOND_FACTOR_REQUIRED' })
      assert.equal(six.auth.user?.email, email)
      await six.auth.secondFactor({ code: authenticator.code() })
      assert.equal((await six.call('GET /auth/me')).user.email, email)
      assert.deepEqual(heard, [email])
    })

    test('is an authenticator app that the client adds and removes, after a recent proof', async () => {
      const six = client()
      const { email, password } = {
        email: 'totp-of-the-client@example.com',
        password: 'correct horse battery',
      }
      await six.auth.signUp({ email, password })
      const authenticator = await addAuthenticator(app(), (await six.auth.token())!)
      assert.deepEqual(await six.auth.factors(), {
        passkeys: 0,
        totp: true,
        recoveryCodes: 10,
        required: false,
      })
      app().clock.advance(HOUR_MS / 2)
      await assert.rejects(six.auth.totp.remove(), { code: 'RECENT_SIGN_IN_REQUIRED' })
      await six.auth.confirm({ code: authenticator.code() })
      const { secret, uri, qr } = await six.auth.totp.offer()
      assert.ok(uri.includes(secret) && qr.svg.startsWith('<svg'))
      await assert.rejects(six.auth.totp.verify('000000'), { code: 'INVALID_CODE' })
      await six.auth.totp.remove()
      assert.equal((await six.auth.factors()).totp, false)
      assert.deepEqual(await six.auth.passkeys.list(), [])
    })
  })
})
