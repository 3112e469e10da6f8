import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { PROGRAM } from '../testing/program.ts'

/** Makes the engine refuse what takes room, as it does on a full disk; returns what makes room again. */
async function fill({ app: { db } }: TestApp): Promise<() => Promise<unknown>> {
  if (db.dialect === 'sqlite') {
    const row = await db.get<{ page_count: number }>(sql`pragma page_count`)
    await db.write(sql`pragma max_page_count = ${sql.literal(String(row!.page_count))}`)
    return () => db.write(sql`pragma max_page_count = 1000000`)
  }
  await db.write(sql`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
  for (const table of ['store_documents', 'sixwire_write_probe'])
    await db.write(
      sql`create trigger refuse before insert on ${sql.literal(table)} execute function refuse()`,
    )
  return () => db.write(sql`drop function refuse cascade`)
}

eachEngine((engine) => {
  test('a full storage refuses writes with 507, is read, and /health says full', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await app.register()
    const add = (text: string) =>
      app.request('POST', '/store/things', {
        token,
        body: { text },
        headers: { 'idempotency-key': `add-${text.length}` },
      })
    assert.equal((await add('small')).status, 201)
    const makeRoom = await fill(app)

    const refused = await add('x'.repeat(500_000))
    assert.deepEqual([refused.status, refused.body.error.code], [507, 'STORAGE_FULL'])
    assert.match(refused.body.error.message, /^The storage is full: nothing was stored\./)
    const list = await app.request('GET', '/store/things', { token })
    assert.deepEqual([list.status, list.body.total], [200, 1])
    const health = await app.request('GET', '/health')
    assert.deepEqual([health.status, health.body.database, health.body.storage], [503, 'connected', 'full'])
    assert.equal((await app.request('GET', '/ready')).status, 200)

    await makeRoom()
    assert.equal((await add('x'.repeat(500_000))).status, 201)
    const healed = await app.request('GET', '/health')
    assert.deepEqual([healed.status, healed.body.storage], [200, 'writable'])
  })
})

test('a start where the disk takes nothing more names the folder in one line', async (t) => {
  const folder = await temporaryFolder(t)
  const { PATH, HOME } = process.env
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    execFile(
      'sh',
      ['-c', 'ulimit -f 150; exec "$0" "$1" start', process.execPath, PROGRAM],
      {
        cwd: folder,
        env: { PATH, HOME, PORT: '0', DATA_DIR: folder, DATABASE_URL: `sqlite:${folder}/test.db` },
      },
      (error, _stdout, stderr) => resolve({ code: error?.code, stderr }),
    )
  })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^sixwire: DATABASE_URL: \S+ is full \(\d+ MB free\): make room, then start again .*\n$/,
  )
  assert.ok(stderr.includes(folder))
})
