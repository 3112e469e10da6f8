// Ways past a second factor that look open at first.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { appForAll, login, PASSWORD, refresh, send, statuses, times } from '../../../../testing/auth.ts'
import { anyEngine, someEngine } from '../../../../testing/engines.ts'
import { appWithMailbox, codeOf, nextAbout, nextToken, quietQueue } from '../../../../testing/mailbox.ts'
import { addPasskey } from '../../../../testing/passkeys.ts'
import {
  addAuthenticator,
  challenged,
  challengeOf,
  finish,
  registerWithFactor,
  wrongCode,
} from '../../../../testing/second-factor.ts'
import { appWithTexts } from '../../messages/sms.fixture.ts'

const MINUTES_10 = 600_000

describe('a second factor', () => {
  someEngine((engine) => {
    const { app, mailbox } = appWithTexts(engine)

    test('has no more tries for who reads the mail: a code by email does not clear the count', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const verify = await nextToken(mailbox(), email, 'verify')
      await send(app(), 'POST /auth/verify-email', { body: { token: verify } })
      const byMail = async () => {
        await send(app(), 'POST /auth/magic-link', { body: { email } })
        const code = codeOf(await nextAbout(mailbox(), email, /sign in/i))
        return challengeOf(await send(app(), 'POST /auth/verify-code', { body: { email, code } }))
      }
      const code = wrongCode(authenticator, app())
      let challenge = ''
      for (let wrong = 0; wrong < 5; wrong++) {
        challenge = await byMail()
        assert.equal((await finish(app(), { challenge, code })).code, 'INVALID_CODE')
      }
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).code, 'ACCOUNT_LOCKED')
    })

    test('is taken after a link while strangers lock the address, and has tries of its own then', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      await app().app.service('auth').users.verify(email)
      for (let wrong = 0; wrong < 5; wrong++) await login(app(), email, 'wrong horse')
      assert.equal((await login(app(), email)).code, 'ACCOUNT_LOCKED')
      const byLink = async () => {
        await send(app(), 'POST /auth/magic-link', { body: { email } })
        const token = await nextToken(mailbox(), email, 'magic-link')
        return challengeOf(await send(app(), 'POST /auth/verify-magic-link', { body: { token } }))
      }
      const challenge = await byLink()
      assert.equal((await finish(app(), { challenge, code: authenticator.code() })).status, 200)
      const another = await byLink()
      const code = wrongCode(authenticator, app())
      for (let wrong = 0; wrong < 4; wrong++) await finish(app(), { challenge: another, code })
      assert.equal((await finish(app(), { challenge: await byLink(), code })).code, 'INVALID_CODE')
      const locked = { challenge: await byLink(), code: authenticator.code() }
      assert.equal((await finish(app(), locked)).code, 'ACCOUNT_LOCKED')
    })

    test('is not proven again by a trusted device', async () => {
      const { email, authenticator } = await registerWithFactor(app())
      const challenge = await challenged(app(), email)
      const trusted = await finish(app(), { challenge, code: authenticator.code(), trustDevice: true })
      const { token, deviceToken } = trusted.body as unknown as { token: string; deviceToken: string }
      app().clock.advance(MINUTES_10)
      const body = { code: wrongCode(authenticator, app()), deviceToken }
      assert.equal((await send(app(), 'POST /auth/confirm', { token, body })).code, 'INVALID_CODE')
      assert.equal((await send(app(), 'DELETE /auth/totp', { token })).code, 'RECENT_SIGN_IN_REQUIRED')
    })

    test('is asked for in sessions that have proven one which was removed before', async () => {
      const { email, token, authenticator } = await registerWithFactor(app())
      const challenge = await challenged(app(), email)
      const other = await finish(app(), { challenge, code: authenticator.code() })
      assert.equal((await send(app(), 'DELETE /auth/totp', { token })).status, 200)
      const without = await refresh(app(), other.body.refreshToken)
      assert.equal(without.status, 200)
      await addAuthenticator(app(), token)
      challengeOf(await refresh(app(), without.body.refreshToken))
    })

    test('is asked for by a registration that is repeated after it was added', async () => {
      const email = 'repeated@example.com'
      const register = () =>
        send(app(), 'POST /auth/register', {
          body: { email, password: PASSWORD },
          headers: { 'idempotency-key': 'the-same-key' },
        })
      const first = await register()
      assert.equal(first.status, 201)
      assert.equal((await register()).body.token, first.body.token)
      await addAuthenticator(app(), first.body.token)
      assert.equal((await register()).code, 'EMAIL_TAKEN')
      await challenged(app(), email)
    })
  })
})

describe('a person who registered the address of another one', () => {
  someEngine((engine) => {
    const passkeys = { rpId: 'localhost', origins: ['http://localhost:5173'] }
    const started = appWithMailbox(engine, { config: { auth: { passkeys } } })
    const app = () => started().app

    test('chooses no words of mails about second factors, and gets five of them an hour sent there', async () => {
      const { email, token } = await app().register()
      const name = 'visit evil.example'
      for (let i = 0; i < 3; i++) {
        const { passkey } = await addPasskey(app(), token, { name })
        assert.equal((await send(app(), `DELETE /auth/passkeys/${passkey._id}`, { token })).status, 200)
      }
      await quietQueue(app())
      const mails = started().mailbox.mails.filter(({ to }) => to.includes(email))
      const about = mails.filter(({ parsed }) => /second factor/.test(parsed.subject!))
      assert.equal(about.length, 5)
      for (const { raw, parsed } of about) {
        assert.doesNotMatch(raw, /evil/)
        assert.match(parsed.text!, /passkey/)
      }
    })
  })
})

describe('a user who adds factors all the time', () => {
  anyEngine((engine) => {
    const app = appForAll(engine, { environment: { SIXWIRE_RATE_LIMITS: 'on' } })

    test('is limited: hashing recovery codes takes time that others wait for', async () => {
      const { token } = await app().register()
      for (const route of ['POST /auth/passkeys', 'POST /auth/totp/verify', 'POST /auth/recovery-codes']) {
        const answered = await Promise.all(times(60, () => send(app(), route, { token, body: {} })))
        assert.ok(statuses(answered)[429]! >= 20, route)
      }
    })
  })
})
