import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { startApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { TEST_SECRET } from '../testing/templates.ts'

eachEngine((engine) => {
  test('documents are exported to a file and imported from one, while the server runs', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { databaseUrl })
    const { token } = await app.register()
    const folder = await temporaryFolder(t)
    const environment = {
      DATABASE_URL: databaseUrl,
      SIXWIRE_SECRET: TEST_SECRET,
      DATA_DIR: folder,
      LOG_LEVEL: 'silent',
    }
    const sixwire = (...words: string[]) => runHere(['documents', ...words], { folder, environment })
    const list = async (collection: string) =>
      (await app.request('GET', `/store/${collection}?sort=_id`, { token })).body.data
    await app.request('POST', '/store/books', {
      token,
      body: [
        { title: 'Momo', n: 1 },
        { title: '=1', n: 2 },
      ],
    })

    const exported = await sixwire('export', 'books', 'books.csv', '--owners')
    assert.deepEqual(
      [exported.code, exported.output],
      [0, '2 documents of books are in books.csv.\n'],
      exported.errors,
    )
    assert.match(await readFile(join(folder, 'books.csv'), 'utf8'), /,2,'=1\r\n/)
    const again = await sixwire('export', 'books', 'books.csv')
    assert.match(again.errors, /^sixwire: books\.csv exists already: name another file\n$/)

    const checked = await sixwire('import', 'copies', 'books.csv', '--dry-run')
    assert.match(checked.output, /^Nothing was written\. It would be: 2 created, 0 replaced/)
    assert.deepEqual(await list('copies'), [])
    const imported = await sixwire('import', 'copies', 'books.csv', '--json')
    assert.deepEqual(JSON.parse(imported.output).created, 2, imported.errors)
    assert.deepEqual(await list('copies'), await list('books'))

    await writeFile(join(folder, 'bad.ndjson'), '{"a":1}\n{"$b":1}\n')
    const bad = await sixwire('import', 'copies', 'bad.ndjson', '--on-conflict', 'skip')
    assert.deepEqual(
      [bad.code, bad.output],
      [
        1,
        '1 created, 0 replaced, 0 skipped, 1 refused.\nline 2: VALIDATION_ERROR /$b: a field name must not begin with $\n',
      ],
    )
    for (const words of [
      ['import', 'copies', 'none.csv'],
      ['import', 'copies', 'bad.ndjson', '--on-conflict', 'ask'],
      ['export', 'books', 'x', '--format', 'xml'],
      ['export', 'books', 'y', '--filter', '{'],
    ])
      assert.notEqual((await sixwire(...words)).code, 0, words.join(' '))
  })
})
