import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../testing/engines.ts'
import { createProgressBar, sizeText } from './progress-bar.ts'

eachEngine((engine) => {
  let app: TestApp
  let token: string
  let folder: string
  let environment: Record<string, string>
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    const databaseUrl = await engine.migratedUrl()
    environment = { DATABASE_URL: databaseUrl, DATA_DIR: folder, SIXWIRE_SECRET: 's'.repeat(40) }
    app = await startApp(ending, engine, { databaseUrl, environment })
    token = (await app.register()).token
    for (const n of [1, 2]) await app.request('POST', '/store/books', { token, body: { n } })
  })
  const sixwire = (...words: string[]) => runHere(['backup', ...words], { folder, environment })

  test('creates, lists, verifies and restores beside a running server', async () => {
    const created = await sixwire('create', '--to', 'a.tar.zst')
    assert.deepEqual([created.code, created.errors], [0, ''])
    const [, id] =
      /^The backup (\w{26}) is completed: 2 documents in 1 collection and 0 files, \d+ bytes, also in a\.tar\.zst\.$/m.exec(
        created.output,
      )!
    const archive = await readFile(join(folder, 'a.tar.zst'))
    const { backups } = (await app.request('GET', '/store/backups', { token })).body
    assert.deepEqual([backups[0]._id, backups[0].size], [id, archive.length])

    // The rest of this is the same on each engine.
    if (engine.name === 'sqlite') await listAndVerify(id!, archive)

    await app.request('POST', '/store/books', { token, body: { n: 3 } })
    const total = async () => (await app.request('GET', '/store/books', { token })).body.total
    const restored = await sixwire('restore', 'a.tar.zst', '--yes')
    assert.deepEqual([restored.code, restored.errors], [0, ''])
    assert.match(restored.output, /What they replaced is the backup \w{26}\./)
    assert.equal(await total(), 2)
  })

  async function listAndVerify(id: string, archive: Buffer): Promise<void> {
    const listed = await sixwire('list')
    assert.match(listed.output, new RegExp(`^${id} +completed +manual +\\S+ +2 +0 +\\d+ bytes$`, 'm'))

    const asJson = JSON.parse((await sixwire('list', '--limit', '20', '--json')).output)
    assert.deepEqual(asJson, (await app.request('GET', '/store/backups', { token })).body)

    for (const source of ['a.tar.zst', id]) {
      const { code, output } = await sixwire('verify', source)
      assert.match(output, /^The archive is whole: 2 documents in 1 collection and 0 files, of 20/)
      assert.equal(code, 0)
    }
    const damaged = Buffer.from(archive)
    damaged[archive.length >> 1]! ^= 1
    await writeFile(join(folder, 'damaged'), damaged)
    const refused = await sixwire('verify', 'damaged')
    assert.deepEqual([refused.code, refused.output], [1, ''])
    assert.match(refused.errors, /^sixwire: The backup is damaged: .+\n$/)
    const asked = await sixwire('restore', 'a.tar.zst')
    assert.match(
      asked.output,
      /^The archive is whole: 2 documents in 1 collection and 0 files, of .+\nThey would replace 2 documents in 1 collection and 0 files\.\nNothing was changed\. --yes replaces/,
    )
  }

  test('says in one line what is wrong', { skip: engine.name !== 'sqlite' }, async () => {
    await writeFile(join(folder, 'there'), 'x')
    const count = async () => (await app.request('GET', '/store/backups', { token })).body.total
    const made = await count()
    const faults: [words: string[], code: number, error: RegExp][] = [
      [['create', '--to', 'there'], 1, /^sixwire: there exists already: name another file\n$/],
      [['create', '--to', 'nowhere/a'], 1, /^sixwire: nowhere\/a: there is no such file or folder\n$/],
      [['verify', 'nowhere'], 1, /^sixwire: nowhere: there is no such file or folder\n$/],
      [['verify', '01arz3ndektsv4rrffq69g5fav'], 1, /^sixwire: There is no backup 01arz3ndek\w+\.\n$/],
      [['verify'], 2, /^sixwire backup verify: FILE\|ID is missing\n/],
      [['destroy'], 2, /^sixwire backup: "destroy" is not an action: use one of create, .*\n/],
    ]
    for (const [words, code, error] of faults) {
      const result = await sixwire(...words)
      assert.equal(result.code, code, words.join(' '))
      assert.match(result.errors, error)
    }
    assert.equal(await count(), made)
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.endsWith('.part')),
      [],
    )
  })
})

describe('the progress bar', () => {
  const draw = (isTTY: boolean) => {
    const written: string[] = []
    let now = 0
    const bar = createProgressBar({
      out: { isTTY, write: (text: string) => (written.push(text), true) },
      now: () => (now += 60),
    })
    for (let done = 0; done <= 4; done++)
      bar.show({ phase: 'Backup', done: done * 1024, total: 4096, unit: 'bytes' })
    bar.show({ phase: 'Restore', done: 1, total: 1234, unit: 'documents' })
    bar.end()
    return written.map((text) => text.replaceAll('\r\u001B[K', ''))
  }

  test('is redrawn on a terminal, and nowhere else', () => {
    assert.deepEqual(draw(false), [])
    const lines = draw(true)
    assert.equal(lines[0], 'Backup  [························]   0 %  0 bytes of 4.0 KB')
    assert.equal(lines.at(-2), 'Restore  [························]   0 %  1 of 1,234 documents')
    assert.equal(lines.at(-1), '')
    assert.ok(lines.length < 7, 'not each step is drawn')
  })

  test('sizes', () => {
    const sizes = [0, 1023, 1024, 1_572_864, 3 * 2 ** 40].map(sizeText)
    assert.deepEqual(sizes, ['0 bytes', '1023 bytes', '1.0 KB', '1.5 MB', '3.0 TB'])
  })
})
