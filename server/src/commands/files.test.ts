import assert from 'node:assert/strict'
import { appendFile, mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { sql } from '../db/sql.ts'
import { startApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { TEST_SECRET } from '../testing/templates.ts'

type Mapped = { from: string; to: string }

eachEngine((engine) => {
  test('a folder of files is imported once, with owners and a map of addresses, while the server runs', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const folder = await temporaryFolder(t)
    const app = await startApp(t, engine, { databaseUrl, environment: { DATA_DIR: folder } })
    const { token, _id: owner } = await app.register()
    const environment = {
      DATABASE_URL: databaseUrl,
      SIXWIRE_SECRET: TEST_SECRET,
      DATA_DIR: folder,
      LOG_LEVEL: 'silent',
    }
    const sixwire = (...words: string[]) =>
      runHere(['files', 'import', 'old', 'map.ndjson', ...words], { folder, environment })
    const mapped = async (): Promise<Mapped[]> =>
      (await readFile(join(folder, 'map.ndjson'), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Mapped)
    const count = async () =>
      (await app.app.db.get<{ n: number }>(sql`select count(*) as n from store_files`))!.n

    await mkdir(join(folder, 'old/photos'), { recursive: true })
    await writeFile(join(folder, 'old/photos/cat.gif'), `GIF89a${'.'.repeat(100)}`)
    await writeFile(join(folder, 'old/style.css'), 'a { color: red }')
    await writeFile(join(folder, 'old/empty'), '')
    await writeFile(join(folder, 'old/bad\u0001'), 'x')
    await symlink('/etc/hostname', join(folder, 'old/link'))
    await utimes(join(folder, 'old/style.css'), 1_577_836_800, 1_577_836_800)
    const known = [
      { path: 'photos/cat.gif', owner, name: 'Cat.gif', metadata: { album: 'pets' } },
      { path: 'empty', owner: 'no owner' },
    ]
    await writeFile(join(folder, 'owners.ndjson'), known.map((line) => `${JSON.stringify(line)}\n`).join(''))

    const words = [
      '--base',
      'https://old.example/',
      '--owners',
      'owners.ndjson',
      '--owner',
      '507f1f77bcf86cd799439011',
    ]
    const dry = await sixwire(...words, '--dry-run', '--json')
    assert.deepEqual([dry.code, JSON.parse(dry.output).stored], [0, 4], dry.errors)
    assert.equal(await count(), 0)

    const first = await sixwire(...words)
    assert.match(first.output, /^2 files stored, 122 bytes, 0 stored before, 2 refused\.\n/, first.errors)
    assert.match(
      first.output,
      /\nhttps:\/\/old\.example\/empty: VALIDATION_ERROR .*owner: must be the id of an account/,
    )
    assert.equal(first.code, 1)
    const map = await mapped()
    assert.deepEqual(map.map(({ from }) => from).toSorted(), [
      'https://old.example/photos/cat.gif',
      'https://old.example/style.css',
    ])
    const cat = map.find(({ from }) => from.endsWith('cat.gif'))!
    const record = (await app.request('GET', cat.to.replace(/\/content$/, ''), { token })).body
    assert.deepEqual(
      [record.originalName, record.contentType, record.metadata],
      ['Cat.gif', 'image/gif', { album: 'pets' }],
    )
    assert.equal((await app.request('GET', cat.to, { token })).text, `GIF89a${'.'.repeat(100)}`)
    const owned = await app.app.db.all<{ owner: string; content_type: string; created_at: number }>(
      sql`select owner, content_type, created_at from store_files where content_type = 'text/css'`,
    )
    assert.deepEqual(owned, [
      { owner: '507f1f77bcf86cd799439011', content_type: 'text/css', created_at: 1_577_836_800_000 },
    ])

    // The owner is mended, a line was cut off, and another one was lost by a crash.
    await writeFile(join(folder, 'owners.ndjson'), '')
    await writeFile(join(folder, 'map.ndjson'), `${JSON.stringify(cat)}\n`)
    await appendFile(join(folder, 'map.ndjson'), '{"from":"https://old')
    const again = await sixwire('--base', 'https://old.example/', '--json')
    assert.deepEqual(JSON.parse(again.output), {
      ...JSON.parse(again.output),
      stored: 2,
      present: 1,
      failed: 1,
    })
    assert.deepEqual((await mapped()).map(({ from }) => from).toSorted(), [
      'https://old.example/empty',
      'https://old.example/photos/cat.gif',
      'https://old.example/style.css',
    ])
    for (const one of map)
      assert.ok((await mapped()).some(({ from, to }) => from === one.from && to === one.to))
    assert.equal(await count(), 3)
    const last = await sixwire('--base', 'https://old.example/')
    assert.match(last.output, /^0 files stored, 0 bytes, 3 stored before, 1 refused/)

    for (const [dir, ...others] of [
      ['none'],
      ['old', '--owners', 'none'],
      ['old', '--owners', 'old/style.css'],
    ])
      assert.notEqual(
        (await runHere(['files', 'import', dir!, 'm', ...others], { folder, environment })).code,
        0,
      )
  })
})
