import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startApp } from '../../testing/app.ts'
import { assemble } from '../../testing/assemble.ts'
import { someEngine } from '../../testing/engines.ts'

const PRODUCTION = { NODE_ENV: 'production', HOST: '127.0.0.1' }
const REFUSAL = /SIXWIRE_POLICY: this database was served under "guarded".* SIXWIRE_POLICY=open/

someEngine((engine) => {
  test('data of production is not opened by a start without its environment', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const start = (environment: Record<string, string>) => startApp(t, engine, { databaseUrl, environment })
    const production = await start(PRODUCTION)
    await production.stop()
    await assert.rejects(start({}), REFUSAL)
    const checked = await assemble(t, { environment: { DATABASE_URL: databaseUrl, SIXWIRE_SANDBOX: 'off' } })
    await assert.rejects(checked.checkPolicy(), REFUSAL)

    const opened = await start({ SIXWIRE_POLICY: 'open' })
    await opened.stop()
    const again = await start({})
    assert.equal(again.app.settings.policy, 'open')
  })
})
