// The second step of a sign-in, whatever the first was.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import {
  PASSWORD,
  login,
  me,
  refresh,
  send,
  startReplicas,
  statuses,
  times,
} from '../../../../testing/auth.ts'
import { createTestPasskey } from '../../../../testing/authenticator.ts'
import { eachEngine, someEngine, testOnOne } from '../../../../testing/engines.ts'
import { appWithMailbox, nextAbout, nextToken } from '../../../../testing/mailbox.ts'
import { creationOptions, optionsOf, sendPasskey } from '../../../../testing/passkeys.ts'
import {
  addAuthenticator,
  challenged,
  challengeOf,
  finish,
  registerWithFactor,
  wrongCode,
} from '../../../../testing/second-factor.ts'

// The frontend of these servers.
const PAGE = { origin: 'https://app.example', rpId: 'app.example' }
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const OTHER_PASSWORD = 'another horse battery'

describe('a sign-in to an account with a second factor', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app

    testOnce('is challenged after the password, and goes on with a code', async () => {
      const { _id, email, authenticator } = await registerWithFactor(app())
      const first = await login(app(), email)
      const details = first.body.error.details as unknown as Record<string, unknown>
      assert.deepEqual(Object.keys(details), ['challenge', 'factors', 'expiresAt'])
      assert.deepEqual(details['factors'], ['totp', 'recovery-code'])
      const finished = await finish(app(), { challenge: challengeOf(first), code: authenticator.code() })
      assert.equal(finished.status, 200, finished.text)
      assert.equal(finished.headers.get('cache-control'), 'no-store')
      const { user, token, refreshToken, ...rest } = finished.body
      assert.deepEqual([user, rest], [{ _id, email }, {}])
      assert.equal((await me(app(), token)).status, 200)
      assert.equal((await refresh(app(), refreshToken)).status, 200)
    })

    testOnce('is challenged after a link too, and after a reset of the password', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const { mailbox } = started()
      const verify = await nextToken(mailbox, email, 'verify')
      assert.equal((await send(app(), 'POST /auth/verify-email', { body: { token: verify } })).status, 200)
      await send(app(), 'POST /auth/magic-link', { body: { email } })
      const token = await nextToken(mailbox, email, 'magic-link')
      const link = await send(app(), 'POST /auth/verify-magic-link', { body: { token } })
      const challenge = challengeOf(link)

      await send(app(), 'POST /auth/forgot-password', { body: { email } })
      const reset = await nextToken(mailbox, email, 'reset')
      const body = { token: reset, password: OTHER_PASSWORD }
      const done = await send(app(), 'POST /auth/reset-password', { body })
      assert.deepEqual([done.status, Object.keys(done.body)], [200, ['message']])
      // Another password makes void what was proven before.
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).code, 'INVALID_CHALLENGE')
      const again = await challenged(app(), email, OTHER_PASSWORD)
      assert.equal((await finish(app(), { challenge: again, code: authenticator.code() })).status, 200)
    })

    testOnce('needs exactly one proof, and a challenge of its own', async () => {
      const one = await registerWithFactor(app())
      const other = await registerWithFactor(app())
      const challenge = await challenged(app(), one.email)
      for (const proofs of [{}, { code: '123456', recoveryCode: 'x' }])
        assert.equal((await finish(app(), { challenge, ...proofs })).code, 'VALIDATION_ERROR')
      assert.equal(
        (await finish(app(), { challenge, code: other.authenticator.code() })).code,
        'INVALID_CODE',
      )
      const [recoveryCode] = other.authenticator.recoveryCodes
      assert.equal((await finish(app(), { challenge, recoveryCode })).code, 'INVALID_CODE')
      const code = one.authenticator.code()
      assert.equal((await finish(app(), { challenge: one.token, code })).code, 'INVALID_CHALLENGE')
      assert.equal((await finish(app(), { challenge: one.refreshToken, code })).code, 'INVALID_CHALLENGE')
      assert.equal((await finish(app(), { challenge, code })).status, 200)
    })

    test('takes a challenge once, also of five at the same moment', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const challenge = await challenged(app(), email)
      const replies = await Promise.all(
        authenticator.recoveryCodes
          .slice(0, 5)
          .map((recoveryCode) => finish(app(), { challenge, recoveryCode })),
      )
      assert.equal(statuses(replies)[200], 1)
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).code, 'INVALID_CHALLENGE')
      // What failed has used up nothing.
      const factors = await send(app(), 'GET /auth/factors', {
        token: replies.find(({ status }) => status === 200)!.body.token,
      })
      assert.equal((factors.body as unknown as { recoveryCodes: number }).recoveryCodes, 9)
    })

    test('takes a challenge for five minutes, and for five attempts', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const old = await challenged(app(), email)
      app().clock.advance(5 * MINUTE_MS)
      assert.equal(
        (await finish(app(), { challenge: old, code: authenticator.code() })).code,
        'INVALID_CHALLENGE',
      )
      const challenge = await challenged(app(), email)
      const deviceToken = 'of no device'
      for (let attempt = 0; attempt < 5; attempt++)
        assert.equal((await finish(app(), { challenge, deviceToken })).code, 'INVALID_CODE')
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).code, 'INVALID_CHALLENGE')
    })

    test('locks the address after wrong passwords and codes together, which the right password does not clear', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const code = wrongCode(authenticator, app())
      for (let wrong = 0; wrong < 2; wrong++)
        assert.equal((await login(app(), email, 'wrong horse')).status, 401)
      for (let wrong = 0; wrong < 3; wrong++) {
        const challenge = await challenged(app(), email)
        const proof = wrong === 0 ? { recoveryCode: 'of nobody' } : { code }
        assert.equal((await finish(app(), { challenge, ...proof })).code, 'INVALID_CODE')
      }
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      app().clock.advance(15 * MINUTE_MS)
      const challenge = await challenged(app(), email)
      for (let wrong = 0; wrong < 4; wrong++) await login(app(), email, 'wrong horse')
      // The whole sign-in clears it.
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).status, 200)
      for (let wrong = 0; wrong < 4; wrong++)
        assert.equal((await login(app(), email, 'wrong horse')).status, 401)
      challengeOf(await login(app(), email))
    })

    test('takes a passkey while the address is locked, and adds one of two first factors with codes', async () => {
      const { email, token } = await app().register()
      const key = createTestPasskey()
      const credential = key.register(await creationOptions(app(), token), PAGE)
      const [authenticator, added] = await Promise.all([
        addAuthenticator(app(), token),
        sendPasskey(app(), token, credential),
      ])
      assert.equal(added.status, 201, added.text)
      const { recoveryCodes } = added.body as unknown as { recoveryCodes?: string[] }
      assert.deepEqual(
        [authenticator.recoveryCodes, recoveryCodes ?? []]
          .map(({ length }) => length)
          .toSorted((one, other) => one - other),
        [0, 10],
      )

      const challenge = await challenged(app(), email)
      for (let wrong = 0; wrong < 5; wrong++) await login(app(), email, 'wrong horse battery')
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).code, 'ACCOUNT_LOCKED')
      const options = await optionsOf(app(), '/auth/second-factor/passkey-options', { body: { challenge } })
      const finished = await finish(app(), { challenge, passkey: key.sign(options, PAGE) })
      assert.equal(finished.status, 200, finished.text)
    })

    test('takes one of 20 uses of a recovery code at the same moment, and tells the owner', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const [recoveryCode] = authenticator.recoveryCodes
      const challenges = await Promise.all(times(20, () => challenged(app(), email)))
      const replies = await Promise.all(
        challenges.map((challenge) => finish(app(), { challenge, recoveryCode })),
      )
      assert.equal(statuses(replies)[200], 1, JSON.stringify(statuses(replies)))
      const { text } = (await nextAbout(started().mailbox, email, /recovery code/i)).parsed
      assert.match(text!, /9/)
    })

    test('trusts a device for 30 days, until it is revoked or the password is another one', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const trust = async () => {
        const challenge = await challenged(app(), email)
        const body = { challenge, code: authenticator.code(), trustDevice: true }
        return (await finish(app(), body)).body as unknown as { token: string; deviceToken: string }
      }
      const use = async (deviceToken: string, password?: string) =>
        finish(app(), { challenge: await challenged(app(), email, password), deviceToken })
      const first = await trust()
      const trusted = await use(first.deviceToken)
      assert.equal(trusted.status, 200)
      assert.ok(!('deviceToken' in trusted.body))
      // It is no proof of a factor.
      const { token } = trusted.body
      assert.equal((await send(app(), 'POST /auth/totp', { token })).code, 'RECENT_SIGN_IN_REQUIRED')
      const other = await registerWithFactor(app())
      const foreign = await challenged(app(), other.email)
      assert.equal(
        (await finish(app(), { challenge: foreign, deviceToken: first.deviceToken })).code,
        'INVALID_CODE',
      )

      const list = await send(app(), 'GET /auth/devices', { token })
      const { devices } = list.body as unknown as { devices: { _id: string; userAgent: string }[] }
      assert.deepEqual(
        devices.map(({ userAgent }) => userAgent),
        ['node'],
      )
      const revoke = () => send(app(), `DELETE /auth/devices/${devices[0]!._id}`, { token })
      const stranger = await send(app(), `DELETE /auth/devices/${devices[0]!._id}`, { token: other.token })
      assert.equal(stranger.status, 404)
      assert.deepEqual([(await revoke()).status, (await revoke()).status], [200, 404])
      assert.equal((await use(first.deviceToken)).code, 'INVALID_CODE')

      const second = await trust()
      const change = { currentPassword: PASSWORD, newPassword: OTHER_PASSWORD }
      assert.equal(
        (await send(app(), 'POST /auth/change-password', { token: second.token, body: change })).status,
        200,
      )
      assert.equal((await use(second.deviceToken, OTHER_PASSWORD)).code, 'INVALID_CODE')
      const challenge = await challenged(app(), email, OTHER_PASSWORD)
      const third = (await finish(app(), { challenge, code: authenticator.code(), trustDevice: true }))
        .body as unknown as { deviceToken: string }
      app().clock.advance(30 * DAY_MS)
      assert.equal((await use(third.deviceToken, OTHER_PASSWORD)).code, 'INVALID_CODE')
    })

    test('is asked of a session from before at its next refresh, which uses up no token', async () => {
      const person = await app().register()
      const elsewhere = (await login(app(), person.email)).body
      const authenticator = await addAuthenticator(app(), person.token)
      assert.equal((await me(app(), elsewhere.token)).status, 200)
      challengeOf(await refresh(app(), elsewhere.refreshToken))
      const challenge = challengeOf(await refresh(app(), elsewhere.refreshToken))
      const finished = await finish(app(), { challenge, code: authenticator.code() })
      assert.equal(finished.status, 200, finished.text)
      assert.equal((await refresh(app(), elsewhere.refreshToken)).status, 401)
      assert.equal((await refresh(app(), finished.body.refreshToken)).status, 200)
      const { sessions } = (await send(app(), 'GET /auth/sessions', { token: finished.body.token })).body
      assert.equal(sessions.length, 2) // that of the registration, and this one
      // The session that added the factor has proven it.
      assert.equal((await refresh(app(), person.refreshToken)).status, 200)
    })

    test('never leaves a session without a factor, when one is added at the same moment', async () => {
      for (let round = 0; round < 5; round++) {
        const { email, token } = await app().register()
        const [, ...logins] = await Promise.all([
          addAuthenticator(app(), token),
          ...times(6, () => login(app(), email)),
        ])
        for (const { status, body } of logins)
          if (status === 200) challengeOf(await refresh(app(), body.refreshToken))
      }
    })

    test('comes to an end of its own when the factor is removed at the same moment', async () => {
      for (let round = 0; round < 5; round++) {
        const { email, authenticator, token } = await registerWithFactor(app())
        const challenge = await challenged(app(), email)
        const code = authenticator.code()
        const [removal, finished] = await Promise.all([
          send(app(), 'DELETE /auth/totp', { token }),
          finish(app(), { challenge, code }),
        ])
        assert.equal(removal.status, 200, removal.text)
        assert.ok([200, 401].includes(finished.status), finished.text)
        assert.equal((await login(app(), email)).status, 200)
      }
    })
  })

  eachEngine((engine) => {
    test('takes a code once over two replicas', async (t) => {
      const [one, other] = await startReplicas(t, engine)
      const { email, authenticator } = await registerWithFactor(one)
      const challenges = await Promise.all(times(4, () => challenged(one, email)))
      const code = authenticator.code()
      const replies = await Promise.all(
        challenges.map((challenge, index) => finish(index % 2 ? one : other, { challenge, code })),
      )
      assert.equal(statuses(replies)[200], 1, JSON.stringify(statuses(replies)))
      assert.equal(
        (await finish(other, { challenge: await challenged(other, email), code })).code,
        'INVALID_CODE',
      )
    })
  })
})

/** Public routes that take an access token, and any other as none. */
const IGNORING = new Set(['/auth/verify-email', '/auth/verify-email-change', '/messaging/email/bounce'])

describe('a challenge', () => {
  someEngine((engine) => {
    const started = appWithMailbox(engine)

    test('opens no route of the application', async () => {
      const { app } = started()
      const { email } = await registerWithFactor(app)
      const challenge = await challenged(app, email)
      const { paths } = (await app.request('GET', '/openapi.json')).body as {
        paths: Record<string, Record<string, { security?: object[]; requestBody?: object }>>
      }
      let [guarded, optional] = [0, 0]
      for (const [path, operations] of Object.entries(paths))
        for (const [method, { security = [] }] of Object.entries(operations)) {
          // What no token changes is of no use to a challenge.
          if (security.length === 0) continue
          const call = (headers: { token?: string }) =>
            app.request(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), {
              ...headers,
              ...(method !== 'get' && { body: {} }),
            })
          const reply = await call({ token: challenge })
          if (IGNORING.has(path)) {
            assert.equal(reply.text, (await call({})).text, path)
            continue
          }
          if (security.some((one) => Object.keys(one).length === 0)) optional++
          else guarded++
          assert.equal(reply.status, 401, `${method} ${path}: ${reply.text}`)
        }
      assert.ok(guarded > 60 && optional >= 10, `${guarded}, ${optional}`)
      const password = OTHER_PASSWORD
      for (const [route, body, code] of [
        ['POST /auth/refresh', { refreshToken: challenge }, 'UNAUTHORIZED'],
        ['POST /console/session', { refreshToken: challenge }, 'UNAUTHORIZED'],
        ['POST /auth/verify-magic-link', { token: challenge }, 'INVALID_TOKEN'],
        ['POST /auth/verify-email', { token: challenge }, 'INVALID_TOKEN'],
        ['POST /auth/verify-email-change', { token: challenge }, 'INVALID_TOKEN'],
        ['POST /auth/undo-email-change', { token: challenge }, 'INVALID_TOKEN'],
        ['POST /auth/reset-password', { token: challenge, password }, 'INVALID_TOKEN'],
        ['POST /auth/first-admin', { token: challenge, email, password }, 'INVALID_TOKEN'],
      ] as const) {
        const reply = await send(app, route, { body, headers: { 'sec-fetch-site': 'same-origin' } })
        assert.equal(reply.code, code, `${route}: ${reply.text}`)
      }
    })
  })
})
