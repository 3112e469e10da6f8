// How long the log is kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { environmentOf } from '../providers.fixture.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Writes messages into the log as if they had been sent at this time. */
async function pretend(app: TestApp, at: number, status: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId(at))
  await app.app.db.write(sql`
    insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, created_at, updated_at)
    values ${sql.join(ids.map((id) => sql`(${id}, 'email', 'a@example.com', ${status}, 1, 0, ${at}, ${at})`))}`)
  await app.app.db.write(sql`
    insert into messaging_recipients (message_id, address)
    values ${sql.join(ids.map((id) => sql`(${id}, 'a@example.com')`))}`)
}

const countsByStatus = (app: TestApp) =>
  app.app.db.all<{ status: string; count: number }>(
    sql`select status, count(*) as count from messaging_messages group by status order by status`,
  )
const recipients = async (app: TestApp): Promise<number> =>
  (await app.app.db.get<{ count: number }>(sql`select count(*) as count from messaging_recipients`))!.count

/** How many messages the log says that there are, without counting them. */
const total = async (app: TestApp, token: string): Promise<number> =>
  (await app.request('GET', '/messaging/logs', { token })).body.total

eachEngine((engine) => {
  const testOnce = testOnOne(engine)

  test('settled messages leave the log after their days, others never do', async (t) => {
    const mail = await startMailServer(t)
    const app = await startApp(t, engine, {
      environment: environmentOf(mail),
      config: { messaging: { keepLogsDays: 30 } },
    })
    const token = (await app.app.service('auth').keys.create('test', ['messaging'])).key
    const body = { to: 'a@example.com', subject: 'Hello', body: '<p>Hello</p>' }
    const sent = await app.request('POST', '/messaging/email', { token, body })
    assert.equal(sent.status, 200, sent.text)
    const now = app.clock.now()
    for (const status of ['sent', 'failed', 'delivered', 'bounced'])
      await pretend(app, now - 31 * DAY, status, 300)
    // The hour until the job runs counts as well.
    await pretend(app, now - 30 * DAY + 2 * HOUR, 'sent', 3)
    await pretend(app, now - 90 * DAY, 'queued', 2)
    await pretend(app, now - 90 * DAY, 'sending', 1)
    assert.equal(await total(app, token), 1207)
    app.clock.advance(HOUR + 1_000)
    const remaining = [
      { status: 'queued', count: 2 },
      { status: 'sending', count: 1 },
      { status: 'sent', count: 4 },
    ]
    while (JSON.stringify(await countsByStatus(app)) !== JSON.stringify(remaining))
      await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(await recipients(app), 7, 'their recipients are deleted with them')
    assert.equal(await total(app, token), 7)

    app.clock.advance(31 * DAY)
    while ((await countsByStatus(app)).length > 2) await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(await recipients(app), 3)
  })

  testOnce('without the option everything is kept', async (t) => {
    const app = await startApp(t, engine)
    await pretend(app, app.clock.now() - 3650 * DAY, 'sent', 1)
    const jobs = await app.app.db.all(sql`select id from sixwire_jobs where kind = 'messaging.clean'`)
    assert.deepEqual(jobs, [])
    assert.deepEqual(await countsByStatus(app), [{ status: 'sent', count: 1 }])
  })
})
