// The policy of second factors, and what an operator does for a user who has lost them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../../testing/app.ts'
import { login, me, refresh, send, statuses, times } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, nextAbout, nextToken } from '../../../testing/mailbox.ts'
import { addAuthenticator, challenged, finish, registerWithFactor } from '../../../testing/second-factor.ts'

const DAY_MS = 86_400_000

type Factors = { passkeys: number; totp: boolean; recoveryCodes: number; required: boolean; dueAt?: string }

describe('second factors that are required', () => {
  someEngine((engine) => {
    const started = appWithMailbox(engine, { config: { auth: { secondFactor: 'required' } } })
    const app = () => started().app
    const documents = (token: string) => send(app(), 'GET /store/notes', { token })
    const factors = async (token: string) =>
      (await send(app(), 'GET /auth/factors', { token })).body as unknown as Factors

    test('may be missing for seven days, which the owner is told by email and by the account', async () => {
      const { email, token } = await app().register()
      const { dueAt, ...rest } = await factors(token)
      assert.deepEqual(rest, { passkeys: 0, totp: false, recoveryCodes: 0, required: true })
      const days = (Date.parse(dueAt!) - app().clock.now()) / DAY_MS
      assert.ok(days > 6.99 && days <= 7, String(days))
      const { text } = (await nextAbout(started().mailbox, email, /second factor/i)).parsed
      assert.ok(text!.includes(new Date(dueAt!).toUTCString()))
      assert.equal((await documents(token)).status, 200)
      // Another sign-in does not begin the days anew.
      app().clock.advance(DAY_MS)
      const again = (await login(app(), email)).body.token
      assert.equal((await factors(again)).dueAt, dueAt)
    })

    test('leave nothing but the routes of accounts after that, until there is one', async () => {
      const { email } = await app().register()
      app().clock.advance(7 * DAY_MS)
      const { token } = (await login(app(), email)).body
      const refused = await documents(token)
      assert.deepEqual([refused.status, refused.code], [403, 'SECOND_FACTOR_MISSING'])
      assert.equal((await me(app(), token)).status, 200)
      await addAuthenticator(app(), token)
      assert.equal((await documents(token)).status, 200)
      assert.deepEqual(await factors(token), { passkeys: 0, totp: true, recoveryCodes: 10, required: true })
    })

    test('can be replaced, and the last one not be removed', async () => {
      const { token } = await registerWithFactor(app())
      const removal = await send(app(), 'DELETE /auth/totp', { token })
      assert.deepEqual([removal.status, removal.code], [409, 'CONFLICT'])
      await addAuthenticator(app(), token)
    })
  })

  eachEngine((engine) => {
    const started = appWithMailbox(engine, {
      config: { auth: { secondFactor: 'admins' } },
      environment: { SIXWIRE_ADMINS: 'root@example.com' },
    })
    const app = () => started().app

    test('of administrators are required of them only, also of one who becomes one later', async () => {
      const { email, token, refreshToken } = await app().register()
      const user = (await send(app(), 'GET /auth/factors', { token })).body as unknown as Factors
      assert.deepEqual([user.required, user.dueAt], [false, undefined])
      await app().app.service('auth').users.promote(email)
      const admin = (await send(app(), 'GET /auth/factors', { token })).body as unknown as Factors
      assert.equal(admin.required, true)
      const other = await app().register()
      await app().app.service('auth').users.promote(other.email)
      const signIns = await Promise.all(times(8, () => login(app(), other.email)))
      assert.deepEqual(statuses(signIns), { 200: 8 })
      // A session of before goes on, and the days begin with its refresh.
      const refreshed = (await refresh(app(), refreshToken)).body
      app().clock.advance(7 * DAY_MS)
      const late = (await refresh(app(), refreshed.refreshToken)).body.token
      assert.equal((await send(app(), 'GET /store/notes', { token: late })).code, 'SECOND_FACTOR_MISSING')
      const diagnosis = app()
        .app.diagnoses()
        .find(({ name }) => name === 'auth: second factors')
      assert.match(JSON.stringify(await diagnosis!.find()), /2 administrators have no second factor/)
    })
  })

  someEngine((engine) => {
    const production = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://api.example',
      APP_URL: 'https://app.example',
    }
    for (const [name, environment, days] of [
      ['are those of administrators in production by default, within seven days', production, 7],
      ['are those of nobody outside production by default', {}, undefined],
    ] as const)
      test(name, async (t) => {
        const app = await startApp(t, engine, { environment })
        const requirementOf = async (token: string) => {
          const { body } = await send(app, 'GET /auth/factors', { token })
          const { required, dueAt } = body as unknown as Factors
          return [required, dueAt && Math.round((Date.parse(dueAt) - app.clock.now()) / DAY_MS)]
        }
        const admin = await app.register()
        await app.app.service('auth').users.promote(admin.email)
        const user = await app.register()
        const adminsToken = (await login(app, admin.email)).body.token
        assert.deepEqual(await requirementOf(user.token), [false, undefined])
        assert.deepEqual(await requirementOf(adminsToken), [days !== undefined, days])
        app.clock.advance(7 * DAY_MS)
        for (const [email, code] of [
          [user.email, undefined],
          [admin.email, days && 'SECOND_FACTOR_MISSING'],
        ] as const) {
          const { token } = (await login(app, email)).body
          const documents = await send(app, 'GET /store/notes', { token })
          assert.equal(documents.code, code, documents.text)
        }
      })
  })
})

describe('the second factors of a user who has lost them', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app

    test('are removed by an administrator with a recent proof: sessions end, and the owner is told', async () => {
      const { users } = app().app.service('auth')
      const admin = await app().register()
      await users.promote(admin.email)
      const { _id, email, token, authenticator } = await registerWithFactor(app())
      const challenge = await challenged(app(), email)
      const trusted = await finish(app(), { challenge, code: authenticator.code(), trustDevice: true })
      assert.equal(trusted.status, 200)
      const olderChallenge = await challenged(app(), email)
      const remove = (by: string) => send(app(), `DELETE /auth/users/${_id}/factors`, { token: by })
      assert.equal((await remove(token)).code, 'FORBIDDEN')
      const removal = await remove(admin.token)
      assert.equal(removal.status, 200, removal.text)
      assert.equal((await me(app(), token)).status, 401)
      assert.equal((await me(app(), trusted.body.token)).status, 401)
      assert.equal(
        (await finish(app(), { challenge: olderChallenge, code: authenticator.code() })).code,
        'INVALID_CHALLENGE',
      )
      const again = await login(app(), email)
      assert.equal(again.status, 200)
      const factors = (await send(app(), 'GET /auth/factors', { token: again.body.token }))
        .body as unknown as Factors
      assert.deepEqual(factors, { passkeys: 0, totp: false, recoveryCodes: 0, required: false })
      await nextAbout(started().mailbox, email, /removed/)
      assert.match(
        app().log(),
        new RegExp(`"event":"factors-removed","account":"${_id}","by":"${admin._id}"`),
      )

      app().clock.advance(600_000)
      assert.equal((await remove(admin.token)).code, 'RECENT_SIGN_IN_REQUIRED')
      const key = await app().app.service('auth').keys.create('support', ['auth'])
      assert.equal((await send(app(), `DELETE /auth/users/nobody/factors`, { token: key.key })).status, 404)
      assert.equal((await remove(key.key)).status, 200)
    })

    testOnce('do not open the way for a link that was sent before', async () => {
      const { email } = await registerWithFactor(app())
      const verify = await nextToken(started().mailbox, email, 'verify')
      await send(app(), 'POST /auth/verify-email', { body: { token: verify } })
      await send(app(), 'POST /auth/magic-link', { body: { email } })
      const link = await nextToken(started().mailbox, email, 'magic-link')
      await app().app.service('auth').users.removeFactors(email)
      assert.equal(
        (await send(app(), 'POST /auth/verify-magic-link', { body: { token: link } })).code,
        'INVALID_TOKEN',
      )
    })
  })
})
