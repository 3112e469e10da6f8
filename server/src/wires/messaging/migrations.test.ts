// What migrations make of the messages of older versions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { deriveKey } from '../../base/crypto.ts'
import { newId } from '../../base/ids.ts'
import type { Database } from '../../db/database.ts'
import { readMigrations } from '../../db/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import { startMailServer } from '../../testing/mail-server.ts'
import { writeContent, type MessageContent } from './messages/message-content.ts'
import { environmentOf, settled } from './providers.fixture.ts'

const AGAIN = 'It may have arrived by an earlier try, and is sent once more.'
const SECRET = 'a secret of the tests that is long enough'
const MINUTE = 60_000
const WITHOUT_COUNTS = { kernel: '003', messaging: '004' }
const LOST = 'The provider did not say whether it took the message: it may have arrived.'

/** A database with the migrations of these wires up to a name. Default: with all. */
async function openAt(databaseUrl: string, { kernel = '999', messaging = '999' } = {}): Promise<Database> {
  const db = await openDatabase(databaseUrl)
  const migrationsTo = async (wire: string, folder: string, last: string) =>
    (await readMigrations(wire, new URL(folder, import.meta.url), db.dialect)).filter(
      ({ name }) => name <= last,
    )
  await db.migrate([
    ...(await migrationsTo('sixwire', '../../kernel/migrations/', kernel)),
    ...(await migrationsTo('messaging', './migrations/', messaging)),
  ])
  return db
}

eachEngine((engine) => {
  test('what a version without call_state knew of a call is known after it', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const db = await openAt(databaseUrl)
    const under = [
      ['sending', null, 'running'],
      ['sending', AGAIN, 'repeated'],
      ['sending', LOST, 'over'],
      ['sent', null, null],
      ['queued', 'busy', null],
    ] as const
    const ids = under.map(() => newId())
    await db.batch([
      sql`alter table messaging_messages drop column call_state`,
      sql`delete from sixwire_migrations where wire = 'messaging' and name like '003%'`,
      ...under.map(
        ([status, error], at) => sql`
          insert into messaging_messages (id, channel, recipient, status, error, attempts, lease_until, created_at, updated_at)
          values (${ids[at]!}, 'email', 'a@example.com', ${status}, ${error}, 1, 0, 0, 0)`,
      ),
    ])
    await db.close()

    const { app } = await startApp(t, engine, { databaseUrl })
    const rows = await app.db.all<{ id: string; call_state: string | null }>(
      sql`select id, call_state from messaging_messages`,
    )
    const states = new Map(rows.map(({ id, call_state }) => [id, call_state]))
    assert.deepEqual(
      ids.map((id) => states.get(id)),
      under.map(([, , state]) => state),
    )
  })

  test('messages of a version without counts are counted', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const db = await openAt(databaseUrl)
    const on = sql.either({ sqlite: sql``, postgres: sql`on messaging_messages` })
    const owners = ['ada', 'ada', 'bob', null]
    await db.batch([
      sql`drop trigger messaging_messages_added ${on}`,
      sql`drop trigger messaging_messages_removed ${on}`,
      sql`delete from sixwire_counts`,
      sql`delete from sixwire_migrations where wire = 'messaging' and name like '005%'`,
      ...owners.map(
        (owner) => sql`
          insert into messaging_messages (id, owner, channel, recipient, status, attempts, lease_until, created_at, updated_at)
          values (${newId()}, ${owner}, 'email', 'a@example.com', 'sent', 1, 0, 0, 0)`,
      ),
    ])
    await db.close()

    const app = await startApp(t, engine, { databaseUrl })
    const { key: token } = await app.app.service('auth').keys.create('test', ['messaging'])
    assert.equal((await app.request('GET', '/messaging/logs', { token })).body.total, 4)
    const counts = await app.app.db.all(sql`
      select owner, cast(sum(records) as bigint) as records from sixwire_counts
      where list = 'messaging.messages' group by owner order by owner`)
    assert.deepEqual(counts, [
      { owner: '', records: 4 },
      { owner: 'ada', records: 2 },
      { owner: 'bob', records: 1 },
    ])
  })

  test('messages and jobs that the version before left behind are sent and done', async (t) => {
    const mail = await startMailServer(t)
    const databaseUrl = await engine.freshUrl()
    const db = await openAt(databaseUrl, WITHOUT_COUNTS)
    const key = deriveKey(SECRET, 'messaging-outbox')
    const now = Date.now()
    const insertMessage = (
      id: string,
      status: string,
      { claim = null as string | null, leaseUntil = 0 } = {},
    ) => {
      const content: MessageContent = {
        channel: 'email',
        mail: {
          messageId: `${id}@example.com`,
          to: [`${id}@example.com`],
          cc: [],
          bcc: [],
          subject: id,
          html: 'Hi',
          attachments: [],
        },
      }
      const payload = status === 'sent' ? null : key.seal(writeContent(content))
      return sql`
        insert into messaging_messages (id, channel, recipient, status, attempts, claim, lease_until, payload, created_at, updated_at)
        values (${id}, 'email', ${`${id}@example.com`}, ${status}, 0, ${claim}, ${leaseUntil}, ${payload}, ${now}, ${now})`
    }
    const insertJob = (id: string, kind: string, payload: unknown, state = 'ready') => sql`
      insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
      values (${id}, ${kind}, ${JSON.stringify(payload)}, ${state}, ${now}, 1, ${now})`
    await db.batch([
      insertMessage('queued', 'queued'),
      insertJob('messaging-queued', 'messaging.send', 'queued'),
      insertMessage('claimed', 'sending', { claim: 'a process that died', leaseUntil: now + 20 * MINUTE }),
      insertMessage('forgotten', 'queued'),
      insertMessage('settled', 'sent'),
      insertJob('messaging-settled', 'messaging.send', 'settled'),
      insertJob('every-messaging.sweep', 'messaging.sweep', null),
      insertJob('reset', 'auth.reset-mail', { address: 'nobody@example.com' }),
      insertJob('lost', 'auth.reset-mail', { address: 'nobody@example.com' }, 'failed'),
    ])
    await db.close()

    const app = await startApp(t, engine, { databaseUrl, environment: environmentOf(mail) })
    const received = () => mail.received.map(({ subject }) => subject).toSorted()
    const sent = sql`select id from messaging_messages where status = 'sent'`
    while ((await app.app.db.all(sent)).length < 3) await delay(10)
    assert.deepEqual(received(), ['forgotten', 'queued'])
    app.clock.advance(20 * MINUTE)
    await settled(app)
    assert.deepEqual(received(), ['claimed', 'forgotten', 'queued'])
    const open = sql<{
      id: string
    }>`select id from sixwire_jobs where kind not like 'sixwire.%' and id not like 'every-auth%' and id not like 'every-onchain%'
      and id not like 'every-messaging%' and id not like 'every-pay%' and id not like 'every-store%'`
    while ((await app.app.db.all(open)).length > 1) await delay(10)
    assert.deepEqual(
      (await app.app.db.all(open)).map(({ id }) => id),
      ['lost'],
    )
  })

  test('mails of the service to one address that the version before left behind are sent in order', async (t) => {
    const mail = await startMailServer(t)
    const databaseUrl = await engine.freshUrl()
    const db = await openAt(databaseUrl, WITHOUT_COUNTS)
    const key = deriveKey(SECRET, 'messaging-outbox')
    const ids = Array.from({ length: 6 }, (_, at) => `mail${at}`)
    const to = 'ada@example.com'
    // The later ones lie first in the table.
    for (const [at, id] of [...ids.entries()].toReversed()) {
      const content: MessageContent = {
        channel: 'email',
        mail: {
          messageId: `${id}@example.com`,
          to: [to],
          cc: [],
          bcc: [],
          subject: id,
          html: 'Hi',
          attachments: [],
        },
      }
      await db.batch([
        sql`insert into messaging_messages (id, channel, recipient, status, attempts, lease_until, payload, created_at, updated_at)
            values (${id}, 'email', ${to}, 'queued', 0, 0, ${key.seal(writeContent(content))}, ${at}, ${at})`,
        sql`insert into messaging_recipients (message_id, address) values (${id}, ${to})`,
      ])
    }
    await db.close()
    const app = await startApp(t, engine, { databaseUrl, environment: environmentOf(mail) })
    await settled(app)
    assert.deepEqual(
      mail.received.map(({ subject }) => subject),
      ids,
    )
  })
})
