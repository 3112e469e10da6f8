// What migrations make of the accounts of older versions.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readMigrations } from '../../db/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { eachEngine } from '../../testing/engines.ts'

const HOUR_MS = 3_600_000

eachEngine((engine) => {
  test('users were active in the hours in which their sessions began and were used last', async (t) => {
    const db = await openDatabase(await engine.freshUrl())
    t.after(() => db.close())
    const auth = await readMigrations('auth', new URL('./migrations/', import.meta.url), db.dialect)
    const frame = await readMigrations(
      'sixwire',
      new URL('../../kernel/migrations/', import.meta.url),
      db.dialect,
    )
    await db.migrate([...frame, ...auth.filter(({ name }) => name < '014')])
    const session = (id: string, from: number, until: number, kind: string | null) => sql`
      insert into auth_sessions (id, user_id, created_at, last_used_at, expires_at, ip, user_agent, kind)
      values (${id}, 'ada', ${from * HOUR_MS}, ${until * HOUR_MS + 1}, 0, '::1', 'node', ${kind})`
    await db.batch([
      sql`
        insert into auth_users (id, email, email_key, metadata, role, credentials_version, created_at, updated_at)
        values ('ada', 'ada@example.com', 'ada@example.com', '{}', 'user', 1, 0, 0)`,
      session('one', 10, 12, null),
      session('two', 12, 30, null),
      session('console', 40, 41, 'console'),
    ])
    await db.migrate([...frame, ...auth])
    assert.deepEqual(await db.all(sql`select hour, previous_hour from auth_active_hours order by hour`), [
      { hour: 10, previous_hour: null },
      { hour: 12, previous_hour: 10 },
      { hour: 30, previous_hour: 12 },
    ])
  })
})
