import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { someEngine } from '../../testing/engines.ts'
import { startWatched } from '../../testing/loaded-modules.ts'
import { CLIENT } from '../../testing/provider-login.ts'

const MAIL = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'shop@shop.example' }
const IDPA = {
  IDPA_ISSUER: 'http://127.0.0.1:1',
  IDPA_CLIENT_ID: CLIENT.id,
  IDPA_CLIENT_SECRET: CLIENT.secret,
}
const DEVELOPMENT = { PUBLIC_URL: 'https://api.example' }
const PRODUCTION = { NODE_ENV: 'production', PUBLIC_URL: 'https://api.example' }

describe('the start of the auth wire', () => {
  someEngine((engine) => {
    /** Lines that warn of where links lead. */
    async function warnings(
      t: Parameters<typeof startApp>[0],
      environment: Record<string, string>,
      sandbox = false,
    ) {
      const app = await startApp(t, engine, { environment, sandbox })
      const lines = app.log().split('\n')
      return lines
        .filter((line) => line.includes('APP_URL'))
        .map((line) => JSON.parse(line) as { level: number })
    }

    for (const [what, environment] of [
      ['mails are sent', { ...PRODUCTION, ...MAIL }],
      ['people come back from a provider', { ...PRODUCTION, ...IDPA }],
      ['mails are sent in development without the sandbox', { ...DEVELOPMENT, ...MAIL }],
      ['people come back from a provider there', { ...DEVELOPMENT, ...IDPA }],
    ] as const)
      test(`warns once where ${what} and nothing says where the pages for it are`, async (t) => {
        const warned = await warnings(t, environment)
        assert.deepEqual(
          warned.map(({ level }) => level),
          [40],
        )
        assert.match(
          JSON.stringify(warned[0]),
          /https:\/\/api\.example\/auth\/…, where there is no page\. Set it/,
        )
      })

    for (const [what, environment, sandbox] of [
      ['APP_URL says it', { ...PRODUCTION, ...MAIL, APP_URL: 'https://shop.example' }],
      ['APP_URL says that it is here', { ...PRODUCTION, ...MAIL, APP_URL: PRODUCTION.PUBLIC_URL }],
      ['nothing leads there', PRODUCTION],
      ['the sandbox has pages for it', { ...DEVELOPMENT, ...MAIL, ...IDPA }, true],
    ] as const)
      test(`warns of nothing where ${what}`, async (t) => {
        assert.deepEqual(await warnings(t, environment, sandbox), [])
      })

    test('says how many accounts are shut out because their address is not verified', async (t) => {
      const databaseUrl = await engine.freshUrl()
      const shutOut = async (environment: Record<string, string>, requireEmailVerification = true) => {
        const app = await startApp(t, engine, {
          databaseUrl,
          environment: { APP_URL: 'https://shop.example', ...environment },
          config: { auth: { local: { requireEmailVerification } } },
        })
        const lines = app.log().split('\n')
        await app.stop()
        return lines.filter((line) => line.includes('not verified')).map((line) => JSON.parse(line))
      }
      const guarded = { ...MAIL, SIXWIRE_POLICY: 'guarded' }
      assert.deepEqual(await shutOut(guarded), [])

      const before = await startApp(t, engine, { databaseUrl, environment: { SIXWIRE_POLICY: 'open' } })
      const { users } = before.app.service('auth')
      await before.register('ada@example.com')
      await before.register('bob@example.com')
      await users.verify((await before.register()).email)
      await users.disable((await before.register()).email)
      await before.stop()

      const [warning, ...more] = await shutOut(guarded)
      assert.deepEqual(more, [])
      assert.deepEqual([warning.level, warning.accounts], [40, 2])
      assert.match(warning.msg, /^2 accounts .+POST \/auth\/resend-verification.+sixwire user verify/)
      for (const [environment, isRequired] of [
        [{ SIXWIRE_POLICY: 'guarded' }, true],
        [{ ...guarded, SIXWIRE_POLICY: 'open' }, true],
        [guarded, false],
      ] as const)
        assert.deepEqual(await shutOut(environment, isRequired), [])
    })
  })

  test('does not load the library for OpenID Connect: the first sign-in does', async (t) => {
    const server = await startWatched(t, { SIXWIRE_SANDBOX: 'off', ...IDPA })
    const isLoaded = async (part: RegExp) => (await server.loaded()).some((module) => part.test(module))
    assert.equal((await fetch(`${server.url}/auth/health`)).status, 200)
    assert.equal(await isLoaded(/\/auth\/sign-in\/identity-providers\/oidc\.ts/), true)
    assert.equal(await isLoaded(/\/openid-client\//), false)
    assert.equal((await fetch(`${server.url}/auth/idpa`, { redirect: 'manual' })).status, 302)
    assert.equal(await isLoaded(/\/openid-client\//), true)
  })
})
