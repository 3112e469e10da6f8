// What a stolen token must not do: it needs a proof within the last 10 minutes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { PASSWORD, appForAll, login, refresh, send, times, type AuthReply } from '../../../../testing/auth.ts'
import { someEngine } from '../../../../testing/engines.ts'
import {
  addAuthenticator,
  challenged,
  finish,
  registerWithFactor,
  wrongCode,
} from '../../../../testing/second-factor.ts'

const TEN_MINUTES_MS = 600_000

describe('a sensitive call', () => {
  someEngine((engine) => {
    const app = appForAll(engine)
    const confirm = (token: string, body: object) => send(app(), 'POST /auth/confirm', { token, body })
    const offer = (token: string) => send(app(), 'POST /auth/totp', { token })
    const revokeOthers = (token: string) => send(app(), 'DELETE /auth/sessions', { token })
    const outcome = ({ status, code }: AuthReply) => code ?? status
    const wait = () => app().clock.advance(TEN_MINUTES_MS)

    test('is allowed for ten minutes after a sign-in, not after a refresh', async () => {
      const { token, refreshToken } = await app().register()
      assert.equal(outcome(await offer(token)), 200)
      wait()
      assert.equal(outcome(await offer(token)), 'RECENT_SIGN_IN_REQUIRED')
      const refreshed = (await refresh(app(), refreshToken)).body
      assert.equal(outcome(await offer(refreshed.token)), 'RECENT_SIGN_IN_REQUIRED')
    })

    test('is allowed for ten minutes after the password was confirmed, in this session only', async () => {
      const { email, token } = await app().register()
      const other = (await login(app(), email)).body.token
      wait()
      assert.equal(outcome(await confirm(token, { password: 'wrong horse battery' })), 'INVALID_CREDENTIALS')
      assert.equal(outcome(await offer(token)), 'RECENT_SIGN_IN_REQUIRED')
      assert.equal(outcome(await confirm(token, { password: PASSWORD })), 200)
      assert.equal(outcome(await offer(token)), 200)
      assert.equal(outcome(await offer(other)), 'RECENT_SIGN_IN_REQUIRED')
      wait()
      assert.equal(outcome(await offer(token)), 'RECENT_SIGN_IN_REQUIRED')
    })

    test('takes a factor where there is one: the password is not enough', async () => {
      const { token, authenticator } = await registerWithFactor(app())
      wait()
      assert.equal(outcome(await confirm(token, { password: PASSWORD })), 200)
      // server/src/e2e/proofs.test.ts asks each route.
      assert.equal(outcome(await revokeOthers(token)), 'RECENT_SIGN_IN_REQUIRED')
      assert.equal(outcome(await confirm(token, { code: authenticator.code() })), 200)
      assert.equal(outcome(await offer(token)), 200)
      wait()
      const [recoveryCode] = authenticator.recoveryCodes
      assert.equal(outcome(await confirm(token, { recoveryCode })), 200)
      assert.equal(outcome(await confirm(token, { recoveryCode })), 'INVALID_CODE')
      assert.equal(outcome(await send(app(), 'DELETE /auth/totp', { token })), 200)
    })

    test('counts what is wrong in the lock of the address', async () => {
      const { email, token, authenticator } = await registerWithFactor(app())
      const code = wrongCode(authenticator, app())
      for (const body of [
        { code },
        { recoveryCode: 'x' },
        { password: 'wrong horse battery' },
        { code },
        { code },
      ])
        assert.notEqual((await confirm(token, body)).status, 200)
      assert.equal(outcome(await confirm(token, { code: authenticator.code() })), 'ACCOUNT_LOCKED')
      assert.equal(outcome(await confirm(token, { password: PASSWORD })), 'ACCOUNT_LOCKED')
      assert.equal(outcome(await login(app(), email)), 'ACCOUNT_LOCKED')
      assert.equal(outcome(await send(app(), 'GET /auth/me', { token })), 200)
    })

    test('is confirmed with exactly one proof', async () => {
      const { token } = await app().register()
      for (const body of [{}, { password: PASSWORD, code: '123456' }, { deviceToken: 'x' }])
        assert.equal(outcome(await confirm(token, body)), 'VALIDATION_ERROR')
    })

    test('ends all other sessions at once', async () => {
      const { email, token } = await app().register()
      const others = await Promise.all(times(3, () => login(app(), email)))
      wait()
      assert.equal(outcome(await revokeOthers(token)), 'RECENT_SIGN_IN_REQUIRED')
      assert.equal(outcome(await send(app(), 'GET /auth/me', { token: others[0]!.body.token })), 200)
      assert.equal(outcome(await confirm(token, { password: PASSWORD })), 200)
      const revoked = await revokeOthers(token)
      assert.equal(revoked.body.message, '3 other sessions are revoked.')
      for (const { body } of others)
        assert.equal(outcome(await send(app(), 'GET /auth/me', { token: body.token })), 'UNAUTHORIZED')
      assert.equal(outcome(await send(app(), 'GET /auth/me', { token })), 200)
    })

    test('deletes the account with the password, or with a recent proof; with a factor only by that', async () => {
      const remove = (token: string, body: object = {}) => send(app(), 'DELETE /auth/me', { token, body })
      const plain = await app().register()
      wait()
      assert.equal(outcome(await remove(plain.token)), 'RECENT_SIGN_IN_REQUIRED')
      assert.equal(outcome(await remove(plain.token, { password: PASSWORD })), 200)
      const { email, token, authenticator } = await registerWithFactor(app())
      wait()
      assert.equal(outcome(await remove(token, { password: PASSWORD })), 'RECENT_SIGN_IN_REQUIRED')
      const challenge = await challenged(app(), email)
      const fresh = (await finish(app(), { challenge, code: authenticator.code() })).body.token
      assert.equal(outcome(await remove(fresh)), 200)
      assert.equal(outcome(await login(app(), email)), 'INVALID_CREDENTIALS')
    })

    test('adds a factor to an account that has none with the proof of a sign-in', async () => {
      const { token } = await app().register()
      const { recoveryCodes } = await addAuthenticator(app(), token)
      assert.equal(recoveryCodes.length, 10)
    })
  })
})
