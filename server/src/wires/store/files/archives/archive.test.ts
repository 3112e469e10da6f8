import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { readZip } from '../../../../testing/zip.ts'
import { upload, type TestFile } from '../files.fixture.ts'

eachEngine((engine) => {
  describe('an archive of files', () => {
    let app: TestApp
    let folder: string
    let token: string
    let admin: string
    const ids: string[] = []
    const ending = endOfSuite()
    const files: TestFile[] = [
      { name: 'a.txt', bytes: 'one' },
      { name: 'A.txt', bytes: 'two' },
      { name: 'a (2).txt', bytes: 'three' },
      { name: 'a:b?.csv', bytes: new Uint8Array(200_000).fill(55), type: 'text/csv' },
      { name: 'empty', bytes: '' },
    ]
    before(async () => {
      folder = await temporaryFolder(ending)
      app = await startApp(ending, engine, { environment: { SIXWIRE_POLICY: 'guarded', DATA_DIR: folder } })
      admin = (await app.register()).token
      token = (await app.register()).token
      for (const file of files) ids.push((await upload(app, token, file)).body._id)
    })

    const fetchArchive = (query: string, as = token, method = 'GET') =>
      fetch(`${app.url}/store/files/archive?${query}`, { method, headers: { authorization: `Bearer ${as}` } })
    async function archive(query: string, as?: string): Promise<[name: string, size: number][]> {
      const response = await fetchArchive(query, as)
      const bytes = Buffer.from(await response.arrayBuffer())
      assert.equal(response.status, 200, bytes.toString())
      assert.equal(response.headers.get('content-length'), String(bytes.length))
      return [...readZip(bytes)].map(([name, content]) => [name, content.length])
    }

    test('has the caller’s files under names that no file system takes for one', async () => {
      const response = await fetchArchive(`ids=${ids.join()}`)
      assert.equal(response.headers.get('content-type'), 'application/zip')
      assert.equal(response.headers.get('content-disposition'), 'attachment; filename="files.zip"')
      const entries = readZip(Buffer.from(await response.arrayBuffer()))
      assert.deepEqual(
        [...entries].map(([name, content]) => [name, content.toString('latin1').slice(0, 5)]),
        [
          ['a.txt', 'one'],
          ['A (2).txt', 'two'],
          ['a (2) (2).txt', 'three'],
          ['a_b_.csv', '77777'],
          ['empty', ''],
        ],
      )
      assert.equal(entries.get('a_b_.csv')!.length, 200_000)
      const head = await fetchArchive(`ids=${ids.join()}`, token, 'HEAD')
      assert.equal(head.headers.get('content-length'), response.headers.get('content-length'))
    })

    test('has what the list finds, of those the caller may read', async () => {
      assert.deepEqual(await archive('contentType=text/csv'), [['a_b_.csv', 200_000]])
      assert.equal((await archive('')).length, 5)
      assert.deepEqual(await archive('', admin), await archive(''))
      assert.deepEqual(await archive('q=none'), [])
      const other = (await app.register()).token
      assert.deepEqual(await archive('', other), [])
      assert.equal((await fetchArchive('', 'none')).status, 401)
    })

    test('is refused for what it would not hold', async () => {
      const other = (await app.register()).token
      for (const [query, as, status] of [
        [`ids=${ids.join()}`, other, 404],
        [`ids=${ids[0]},01arz3ndektsv4rrffq69g5fav`, token, 404],
        ['ids=x', token, 400],
        [`ids=${ids[0]}&q=a`, token, 400],
        ['contenttype=text/csv', token, 400],
        ['owner=a', token, 403],
      ] as const)
        assert.equal((await fetchArchive(query, as)).status, status, query)
    })

    test('of more than 10,000 files is refused', async () => {
      const copy = sql`
        insert into store_files (id, owner, object, original_name, content_type, size, sha256, metadata, created_at, public_key)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10001)
        select '01arz3ndektsv4rrffq6' || (100000 + n), 'key', 'none' || cast(n as text), 'many', content_type, size, sha256, metadata, created_at, cast(n as text)
        from store_files, numbers where id = ${ids[4]!}`
      await app.app.db.write(copy)
      const refused = await fetchArchive('name=many', admin)
      const { error } = (await refused.json()) as { error: { code: string; message: string } }
      assert.deepEqual([refused.status, error.code], [400, 'VALIDATION_ERROR'])
      assert.match(error.message, /more than 10000 files/)
    })

    test('whose bytes are missing is an error, or does not end well', async () => {
      const { body: gone } = await upload(app, token, { name: 'gone.txt' })
      await rm(join(folder, 'uploads', gone.filename.slice(-2), gone.filename))
      assert.equal((await fetchArchive(`ids=${gone._id}`)).status, 500)
      await assert.rejects(
        fetchArchive(`ids=${ids[3]},${gone._id}`).then((response) => response.arrayBuffer()),
      )
      assert.match(app.log(), /the archive was cut off/)
    })
  })
})
