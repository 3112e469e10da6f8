// What becomes of events whose server is killed with -9 before they are delivered, and while they are.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { startApp, testClock } from '../../testing/app.ts'
import { someEngine, temporaryFolder } from '../../testing/engines.ts'
import { startProgram } from '../../testing/program.ts'
import { startReceiver } from '../../testing/webhook-receiver.ts'
import { until } from '../../testing/until.ts'

/** More than are delivered at once. */
const PEOPLE = 10
const byText = (one: string, other: string): number => (one < other ? -1 : 1)
const SECRET = 'a secret of the tests that is long enough'

someEngine((engine) => {
  test('the next server delivers what a killed one has written', async (t) => {
    const receiver = await startReceiver(t)
    receiver.answer = () => undefined
    const databaseUrl = await engine.migratedUrl()
    const folder = await temporaryFolder(t)
    const webhooks = [{ url: receiver.url, secret: receiver.secret, events: ['auth.*'] }]
    await writeFile(
      join(folder, 'sixwire.config.ts'),
      `export default ${JSON.stringify({ webhooks, auth: { bcryptCost: 4 } })}`,
    )
    const environment = { SIXWIRE_SECRET: SECRET, SIXWIRE_SANDBOX: 'off' }
    const program = startProgram(t, ['start'], {
      folder,
      environment: { ...environment, DATABASE_URL: databaseUrl, DATA_DIR: folder },
    })
    const url = await program.url()
    for (let i = 0; i < PEOPLE; i++) {
      const body = JSON.stringify({ email: `p${i}@example.com`, password: 'correct horse battery' })
      const headers = { 'content-type': 'application/json' }
      assert.equal((await fetch(`${url}/auth/register`, { method: 'POST', headers, body })).status, 201)
    }
    // If that takes long, the first ones are over and the next ones begin.
    await until(() => receiver.attempts.length >= 8)
    await program.kill()

    receiver.answer = 204
    const clock = testClock()
    // The leases are over.
    clock.advance(120_000)
    await startApp(t, engine, { databaseUrl, clock, environment, config: { webhooks } })
    await receiver.arrived(PEOPLE)
    assert.deepEqual(
      receiver.events.map(({ data }) => String(data['email'])).toSorted(byText),
      Array.from({ length: PEOPLE }, (_, i) => `p${i}@example.com`),
    )
    // The same event has the same id, by which a receiver notices what it has already.
    const ids = new Set(receiver.attempts.map(({ id }) => id))
    assert.equal(ids.size, PEOPLE)
  })
})
