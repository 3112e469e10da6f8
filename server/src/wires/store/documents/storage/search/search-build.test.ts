// The words of documents that were there before, while others write; and what replaces all documents.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { defineWire } from '../../../../../kernel/wire/wire.ts'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, someEngine, temporaryFolder, type Engine } from '../../../../../testing/engines.ts'
import { fileOf } from '../../../backups/restore.fixture.ts'
import { archiveOf, documentOf, entriesOf } from '../../../backups/archive.fixture.ts'
import { indexesOf, readyIndexes } from '../indexes/indexes.fixture.ts'
import { assertWords, searchable } from './search.fixture.ts'

const DOCUMENTS = 150

type Collections = NonNullable<Config['store']>['collections']

/** Starts servers on one database. */
const startsOnFor = (engine: Engine) => async (t: TestContext) => {
  const databaseUrl = await engine.migratedUrl()
  return (collections: Collections = {}, wires: Config['wires'] = []): Promise<TestApp> =>
    startApp(t, engine, { databaseUrl, config: { store: { collections }, wires } })
}

const searchedBy = (...search: string[]) =>
  ({ books: { read: 'user', create: 'user', update: 'user', search } }) as const
const seed = async (app: TestApp, token: string) => {
  const body = Array.from({ length: DOCUMENTS }, (_, i) => ({ title: `old ${i}`, text: 'more', n: i }))
  const { status, body: made } = await app.request('POST', '/store/books', { token, body })
  assert.equal(status, 201)
  return made.data.map(({ _id }: { _id: string }) => _id) as string[]
}
async function totalOf(app: TestApp, token: string, search: string): Promise<number> {
  const { status, body, text } = await app.request('GET', `/store/books?search=${search}&limit=1`, {
    token,
  })
  assert.equal(status, 200, text)
  return body.total
}

eachEngine((engine) => {
  const startsOn = startsOnFor(engine)

  test('documents from before are found once the index is built, and it follows the declared fields', async (t) => {
    const start = await startsOn(t)
    const first = await start()
    const { token } = await first.register()
    await seed(first, token)
    const second = await start(searchedBy('title'))
    await searchable(second, 'books', token)
    assert.equal(await totalOf(second, token, 'old'), DOCUMENTS)
    assert.equal(await totalOf(second, token, 'more'), 0)

    const third = await start(searchedBy('text', 'title'))
    await searchable(third, 'books', token)
    assert.equal(await totalOf(third, token, 'more'), DOCUMENTS)
    const { status, body } = await second.request('GET', '/store/books?search=old', { token })
    assert.deepEqual([status, body.error.code], [503, 'UNAVAILABLE'])
    await readyIndexes(third)
    await assertWords(third)

    const last = await start()
    await readyIndexes(last)
    assert.deepEqual(await indexesOf(last), [])
    await assertWords(last)
  })

  test('what a server writes that has not heard of the index is found, whenever it writes', async (t) => {
    const start = await startsOn(t)
    const writer = await start({ books: 'shared' })
    const { token } = await writer.register()
    const ids = await seed(writer, token)
    let isOver = false
    const writes = (async () => {
      for (let n = 0; !isOver; n++) {
        const id = ids.pop()!
        const next = ids[n % ids.length]!
        const changed = [
          writer.request('DELETE', `/store/books/${id}`, { token }),
          writer.request('PATCH', `/store/books/${next}`, { token, body: { title: `new ${n}` } }),
          writer.request('POST', '/store/books', { token, body: { title: `new ${n}` } }),
        ]
        for (const { status, text } of await Promise.all(changed)) assert.ok(status < 300, text)
        if (ids.length < 10) break
      }
    })()
    const searcher = await start(searchedBy('title'))
    await searchable(searcher, 'books', token)
    isOver = true
    await writes
    const { body } = await searcher.request('GET', '/store/books?limit=1000', { token })
    const titles: string[] = body.data.map(({ title }: { title: string }) => title)
    const countOf = (word: string) => titles.filter((title) => title.startsWith(word)).length
    assert.ok(countOf('new') > 0)
    assert.equal(await totalOf(searcher, token, 'new'), countOf('new'))
    assert.equal(await totalOf(searcher, token, 'old'), countOf('old'))
    await readyIndexes(searcher)
    await assertWords(searcher)
  })

  test('a restored document is found, and one that is replaced is not', async (t) => {
    const start = await startsOn(t)
    const app = await start(searchedBy('title'))
    const { token } = await app.register()
    await seed(app, token)
    const archive = entriesOf({ books: [documentOf('"title":"restored é"'), documentOf('"title":"other"')] })
    const file = await fileOf(t, await archiveOf(archive))
    const { safetyBackup } = await app.app.service('store').restores.restore({ file })
    assert.equal(await totalOf(app, token, 'old'), 0)
    assert.equal(await totalOf(app, token, 'restored'), 1)
    await assertWords(app)
    assert.ok(safetyBackup)
    const restored = await app.request('POST', `/store/backup/${safetyBackup}/restore`, { token })
    assert.ok(restored.status < 300, restored.text)
    assert.equal(await totalOf(app, token, 'old'), DOCUMENTS)
    assert.equal(await totalOf(app, token, 'restored'), 0)
    await assertWords(app)
  })
})

someEngine((engine) => {
  const startsOn = startsOnFor(engine)

  test('words of another tokenizer are built again at the start', async (t) => {
    const start = await startsOn(t)
    const first = await start(searchedBy('title'))
    const { token } = await first.register()
    await seed(first, token)
    await first.app.db.write(sql`update store_indexes set format = format - 1`)
    await first.app.db.write(sql`delete from store_search where id in (select max(id) from store_documents)`)
    assert.equal(await totalOf(first, token, 'old'), DOCUMENTS - 1)
    await first.stop()
    const last = await start(searchedBy('title'))
    await searchable(last, 'books', token)
    assert.equal(await totalOf(last, token, 'old'), DOCUMENTS)
    await readyIndexes(last)
    await assertWords(last)
  })

  test('what a server of an older version writes beside a newer one is found after the next start', async (t) => {
    const start = await startsOn(t)
    const older = await start(searchedBy('title'))
    const { token } = await older.register()
    await seed(older, token)
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, '001-later.sql'), 'create table later (id text primary key);')
    const later = defineWire({
      name: 'later',
      migrations: pathToFileURL(`${folder}/`),
      setup: () => ({ routes: [], service: undefined }),
    })
    const newer = await start(searchedBy('title'), [later()])
    await searchable(newer, 'books', token)
    // As an older version stores a document: without words.
    await older.app.db.write(sql`delete from store_search where id in (select max(id) from store_documents)`)
    assert.equal(await totalOf(newer, token, 'old'), DOCUMENTS - 1)
    assert.match(newer.log(), /an older version of this program runs on the database/)
    await older.stop()
    await newer.stop()
    const last = await start(searchedBy('title'), [later()])
    await searchable(last, 'books', token)
    assert.equal(await totalOf(last, token, 'old'), DOCUMENTS)
    assert.doesNotMatch(last.log(), /an older version/)
  })
})
