// What migrations make of the messages of older versions.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { newId } from '../../base/ids.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'

const AGAIN = 'It may have arrived by an earlier try, and is sent once more.'
const LOST = 'The provider did not say whether it took the message: it may have arrived.'

eachEngine((engine) => {
  test('what a version without call_state knew of a call is known after it', async (t) => {
    const databaseUrl = await engine.freshUrl()
    await (await startApp(t, engine, { databaseUrl })).stop()
    const db = await openDatabase(databaseUrl)
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
    const databaseUrl = await engine.freshUrl()
    await (await startApp(t, engine, { databaseUrl })).stop()
    const db = await openDatabase(databaseUrl)
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
})
