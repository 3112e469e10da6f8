// How a server gets its first administrator.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { as, codeOf } from '../../../testing/administration.ts'
import { startApp, type StartOptions, type TestApp } from '../../../testing/app.ts'
import { me, PASSWORD, statuses, send, times } from '../../../testing/auth.ts'
import { eachEngine, someEngine, testOnOne } from '../../../testing/engines.ts'

const PRODUCTION: StartOptions = {
  environment: { NODE_ENV: 'production', PUBLIC_URL: 'https://api.example', APP_URL: 'https://app.example' },
}

const tokenIn = (app: TestApp): string | undefined =>
  /https:\/\/api\.example\/console#\/first-admin\?token=([\w-]{43})/.exec(app.log())?.[1]

const create = (app: TestApp, token: string, email = 'root@example.com') =>
  send(app, 'POST /auth/first-admin', { body: { token, email, password: PASSWORD } })

describe('the first administrator in production', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)

    test('is created by the link of the log, of which one use ends all', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const one = await startApp(t, engine, { ...PRODUCTION, databaseUrl })
      const two = await startApp(t, engine, { ...PRODUCTION, databaseUrl, clock: one.clock })
      const [first, second] = [tokenIn(one)!, tokenIn(two)!]
      assert.notEqual(first, second)
      await one.register('user@example.com')
      assert.equal((await create(one, `${first.slice(0, -1)}!`)).code, 'INVALID_TOKEN')
      assert.equal((await create(one, first, 'user@example.com')).code, 'EMAIL_TAKEN')
      const answers = await Promise.all(
        times(6, (i) => create(i % 2 ? one : two, i % 3 ? first : second, `root${i}@example.com`)),
      )
      assert.deepEqual(statuses(answers), { 201: 1, 400: 5 })
      const { token, user } = answers.find(({ status }) => status === 201)!.body
      const { role, emailVerified } = (await me(two, token)).body.user
      assert.deepEqual([role, emailVerified], ['admin', true])
      const { body } = await as(one, { token }, `GET /auth/audit?target=user:${user._id}&action=user.created`)
      const [entry] = (body as { entries: { actor: { kind: string }; after: object }[] }).entries
      assert.deepEqual(
        [entry!.actor.kind, entry!.after],
        ['stranger', { email: user.email, role: 'admin', emailVerified: true }],
      )
      assert.equal((await create(one, first)).code, 'INVALID_TOKEN')
      // A later start has nothing to show.
      const three = await startApp(t, engine, { ...PRODUCTION, databaseUrl })
      assert.equal(tokenIn(three), undefined)
    })

    testOnce('is valid for an hour, and until there is an administrator', async (t) => {
      const app = await startApp(t, engine, PRODUCTION)
      const token = tokenIn(app)!
      assert.deepEqual((await app.request('GET', '/console/state')).body, {
        name: app.app.settings.name,
        production: true,
        firstRun: false,
        policy: 'guarded',
        hasScreens: false,
        wires: app.app.wires,
        sandbox: false,
      })
      const { users } = app.app.service('auth')
      const { email } = await users.create({ email: 'ada@example.com', password: PASSWORD })
      await users.promote(email)
      assert.equal((await create(app, token)).code, 'INVALID_TOKEN')
      app.clock.advance(3_600_000)
      assert.equal(codeOf(await app.request('POST', '/auth/first-admin', { body: {} })), 'VALIDATION_ERROR')
      assert.equal((await create(app, token)).code, 'INVALID_TOKEN')
    })
  })

  someEngine((engine) => {
    test('is the first account outside production, and the one that SIXWIRE_ADMINS names', async (t) => {
      const app = await startApp(t, engine)
      const firstRun = async (one: TestApp) =>
        ((await one.request('GET', '/console/state')).body as { firstRun: boolean }).firstRun
      assert.equal(await firstRun(app), true)
      const { token } = await app.register()
      assert.equal((await me(app, token)).body.user.role, 'admin')
      assert.equal(await firstRun(app), false)
      assert.doesNotMatch(app.log(), /first-admin\?token/)
      const named = await startApp(t, engine, {
        environment: { ...PRODUCTION.environment, SIXWIRE_ADMINS: 'root@example.com' },
      })
      assert.equal(tokenIn(named), undefined)
    })
  })
})
