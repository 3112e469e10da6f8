// What migrations make of the documents of older versions.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { newId } from '../../base/ids.ts'
import { readMigrations } from '../../db/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { sql } from '../../db/sql.ts'
import { startApp } from '../../testing/app.ts'
import { eachEngine } from '../../testing/engines.ts'
import { closeGateSql } from './backups/restore-gate.ts'

const AT = '2026-11-22T23:00:00.000Z'
const FIELDS = [
  '',
  String.raw`,"1":"\u0001\"\\ß漢字😀/","":{"":[]},"n":[1e+21,5e-324,123456789012345670000,-0.5]`,
  `,"toString":null,"a.b":{"é":[true,false,[[]]]},"long":"${'x'.repeat(100_000)}"`,
]

eachEngine((engine) => {
  test('documents that were stored as text are answered with the same bytes, counted and filtered', async (t) => {
    const databaseUrl = await engine.freshUrl()
    const db = await openDatabase(databaseUrl)
    const store = await readMigrations('store', new URL('./migrations/', import.meta.url), db.dialect)
    await db.migrate([
      ...(await readMigrations('sixwire', new URL('../../kernel/migrations/', import.meta.url), db.dialect)),
      ...store.filter(({ name }) => name < '005'),
    ])
    const old = FIELDS.map((fields, i) => {
      const id = newId()
      const body = `{"_id":"${id}","createdAt":"${AT}","updatedAt":"${AT}"${fields}}`
      return { id, body, version: i + 1 }
    })
    for (const { id, body, version } of old)
      await db.write(sql`
        insert into store_documents (collection, id, owner, version, body)
        values ('old', ${id}, 'anna', ${version}, ${body})`)
    for (const [id, owner, metadata] of [
      ['1', 'anna', '{}'],
      ['2', 'anna', '{"ä":1}'],
      ['3', 'ben', '{"a":1}'],
    ] as const)
      await db.write(sql`
        insert into store_files (id, owner, object, original_name, content_type, size, sha256, metadata, created_at)
        values (${id}, ${owner}, ${id}, 'a', 'text/plain', 10, '', ${metadata}, 1)`)
    // A restore that died with its gate closed.
    for (const step of closeGateSql[db.dialect]) await db.write(step)
    await db.write(sql`
      insert into store_restores (id, status, source, lease_until, created_at) values ('r', 'running', 'a', 1, 1)`)
    await db.write(sql`
      insert into store_restored_documents (restore_id, collection, id, owner, version, body)
      values ('r', 'old', 'x', 'anna', 1, '{}')`)
    await db.write(sql`
      insert into sixwire_jobs (id, kind, payload, state, run_at, attempts, created_at)
      values ('every-store.sweep', 'store.sweep', 'null', 'ready', 1, 0, 1)`)
    await db.close()

    const server = await startApp(t, engine, {
      databaseUrl,
      config: { store: { collections: { old: 'shared' } } },
    })
    const { token } = await server.register()
    for (const { id, body, version } of old) {
      const read = await server.request('GET', `/store/old/${id}`, { token })
      assert.equal(read.text, body)
      assert.equal(read.headers.get('etag'), `"${version}"`)
    }
    const names = sql`('every-store.sweep', 'every-store.garbage')`
    assert.deepEqual(
      await server.app.db.all(sql`select id from sixwire_jobs where id in ${names}`),
      [{ id: 'every-store.garbage' }],
      'a job that was renamed',
    )
    // With their metadata, of which empty ones count nothing.
    assert.deepEqual((await server.request('GET', '/store/files/usage', { token })).body, {
      files: 3,
      bytes: 45,
      owners: [
        { owner: 'anna', files: 2, bytes: 28 },
        { owner: 'ben', files: 1, bytes: 17 },
      ],
    })
    const sizes = await server.app.db.all(sql`select bytes from store_documents order by id`)
    assert.deepEqual(
      sizes,
      old.map(({ body }) => ({ bytes: Buffer.byteLength(body) })),
    )
    const total = async (query: Record<string, string>): Promise<number> => {
      const list = await server.request('GET', `/store/old?${new URLSearchParams(query).toString()}`, {
        token,
      })
      assert.equal(list.status, 200, list.text)
      return list.body.total
    }
    assert.equal(await total({}), 3)
    assert.equal(await total({ filter: '{"n":{"$lt":0}}' }), 1)
    assert.equal(await total({ filter: '{"n":null}', sort: 'long,-a' }), 2)
    assert.match(server.log(), /bringing the tables up to date/)

    const changed = await server.request('PUT', `/store/old/${old[0]!.id}`, { token, body: { a: 1 } })
    assert.equal(changed.status, 200, changed.text)
    await server.request('DELETE', `/store/old/${old[1]!.id}`, { token })
    await server.request('POST', '/store/old', { token, body: {} })
    assert.equal((await server.request('GET', '/store/old', { token })).body.total, 3)
  })
})
