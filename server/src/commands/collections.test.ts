import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { registerAs } from '../testing/administration.ts'
import { startApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, temporaryFolder } from '../testing/engines.ts'
import { TEST_SECRET } from '../testing/templates.ts'

eachEngine((engine) => {
  test('definitions go from one installation to another by files', async (t) => {
    const folder = await temporaryFolder(t)
    const file = (name: string) => join(folder, `definitions/${name}.json`)
    const installation = async () => {
      const databaseUrl = await engine.migratedUrl()
      const app = await startApp(t, engine, { databaseUrl })
      const { token } = await registerAs(app, 'admin')
      const environment = { DATABASE_URL: databaseUrl, SIXWIRE_SECRET: TEST_SECRET, LOG_LEVEL: 'silent' }
      const run = (...words: string[]) => runHere(['collections', ...words], { folder, environment })
      return { app, token, run }
    }
    const [staging, production] = [await installation(), await installation()]
    for (const [name, body] of [
      ['people', { read: 'public' }],
      ['books', { relations: { author: { to: 'people' } }, unique: ['slug'] }],
      ['people', { read: 'public', relations: { favorite: { to: 'books' } } }],
    ] as const) {
      const path = `/store/collections/${name}`
      const { status } = await staging.app.request('PUT', path, { token: staging.token, body })
      assert.equal(status, 200)
    }
    const pulled = await staging.run('pull', 'definitions')
    assert.deepEqual([pulled.code, pulled.output], [0, '2 definitions in definitions\n'])
    assert.equal(
      await readFile(file('people'), 'utf8'),
      '{\n  "read": "public",\n  "relations": {\n    "favorite": {\n      "to": "books"\n    }\n  }\n}\n',
    )
    assert.equal((await staging.run('diff', 'definitions')).code, 0)

    const shown = await production.run('push', 'definitions')
    assert.equal(shown.code, 1)
    assert.match(
      shown.output,
      /^books\n {2}\+ relations: .*\n {2}\+ unique: \["slug"\]\npeople\n {2}\+ read: "public"\n {2}\+ relations: .*\n/,
    )
    const [one, other] = [{ slug: 'a' }, { slug: 'a' }]
    const { token } = production
    const documents = await production.app.request('POST', '/store/books', { token, body: [one, other] })
    const refused = await production.run('push', 'definitions', '--yes')
    assert.equal(refused.code, 1)
    assert.match(
      refused.errors,
      /^books: refused: the documents .* have the same slug.*\nNo definition has changed\.\n$/,
    )
    assert.equal((await production.app.request('GET', '/store/people')).status, 401)
    const { _id } = documents.body.data[0]
    await production.app.request('DELETE', `/store/books/${_id}`, { token })
    const pushed = await production.run('push', 'definitions', '--yes')
    assert.deepEqual([pulled.code, pushed.errors], [0, ''])
    assert.match(pushed.output, /books: in force\npeople: in force\n$/)
    assert.equal((await production.app.request('GET', '/store/people')).status, 200)

    await rm(file('books'))
    await writeFile(file('people'), '{"read": "admin"}')
    const differing = await production.run('diff', 'definitions')
    assert.equal(differing.code, 1)
    assert.match(
      differing.output,
      /people\n {2}- read: "public"\n {2}\+ read: "admin"\n {2}- relations: .*\n$/,
    )
    assert.equal((await production.run('push', 'definitions', '--yes', '--delete')).code, 0)
    const left = (await production.app.request('GET', '/store/collections/books', { token })).body
    assert.equal(left.source, 'none')
  })

  test('a file that is no definition is named, and nothing is put into force', async (t) => {
    const folder = await temporaryFolder(t)
    const databaseUrl = await engine.migratedUrl()
    const app = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(app, 'admin')
    const environment = { DATABASE_URL: databaseUrl, SIXWIRE_SECRET: TEST_SECRET, LOG_LEVEL: 'silent' }
    const push = () => runHere(['collections', 'push', '.', '--yes'], { folder, environment })
    await writeFile(join(folder, 'a.json'), '{"read": "everybody"}')
    assert.match((await push()).errors, /^a: \/read: "everybody" is no audience/)
    for (const [text, fault] of [
      ['{"raed": "admin"}', /^a: \/raed: is not a known field\nNo definition has changed/],
      ['{"unique": 5}', /^a: \/unique: must be array/],
    ] as const) {
      await writeFile(join(folder, 'a.json'), text)
      assert.match((await push()).errors, fault)
    }
    await writeFile(join(folder, 'b.json'), '{')
    assert.match((await push()).errors, /b\.json: /)
    await rm(join(folder, 'b.json'))
    await writeFile(join(folder, '1.json'), '{}')
    assert.match((await push()).errors, /1\.json: 1 is no name of a collection/)
    assert.equal((await app.request('GET', '/store/collections/a', { token })).body.source, 'none')
  })
})
