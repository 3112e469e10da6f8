import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'

import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startReplicas } from '../../../testing/auth.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../testing/engines.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { until } from '../../../testing/until.ts'
import { upload } from '../files/content/file-content.fixture.ts'
import { archiveOf, documentOf, entriesOf, sampleEntries } from './archive.fixture.ts'
import { pathOf } from './backups.fixture.ts'
import { closeGateSql } from './restore-gate.ts'
import { insertSql } from './restore-rows.ts'
import { assertClean, fileOf, stateOf } from './restore.fixture.ts'

const restore = (app: TestApp, token: string, id: string) =>
  app.request('POST', `/store/backup/${id}/restore`, { token })

eachEngine((engine) => {
  describe('a restore', () => {
    const ending = endOfSuite()
    let folder: string
    let app: TestApp
    let other: TestApp
    let token: string
    before(async () => {
      folder = await temporaryFolder(ending)
      ;[app, other] = await startReplicas(ending, engine, { environment: { DATA_DIR: folder } })
      token = (await app.register()).token
    })
    const restores = () => app.app.service('store').restores

    test('replaces all documents and files by those of an archive, and back by those of the safety backup', async (t) => {
      const before = await Promise.all(
        [{ title: 'old' }, { title: 'older' }].map((body) =>
          app.request('POST', '/store/books', { token, body }),
        ),
      )
      const first = await fileOf(t, await archiveOf(sampleEntries()))
      const phases = new Set<string>()
      const { safetyBackup } = await restores().restore(
        { file: first },
        { onProgress: ({ phase }) => void phases.add(phase) },
      )
      assert.ok(phases.has('Check') && phases.has('Replace'), [...phases].join())
      await assertClean(app.app, folder)

      // The other replica answers the new state at once.
      const { body: list } = await other.request('GET', '/store/Books?sort=_id', { token })
      assert.equal(list.total, 3)
      assert.equal(list.data[1].x, 1.5)
      const [oldest] = list.data
      const one = await other.request('GET', `/store/Books/${oldest._id}`, { token })
      assert.equal(one.headers.get('etag'), '"7"')
      assert.equal((await other.request('GET', '/store/books', { token })).body.total, 1)
      const { files, usedBytes } = await stateOf(other.app)
      assert.equal(files.length, 3)
      // With metadata of 13 bytes.
      assert.deepEqual(usedBytes, [
        { owner: '', counted: 70_018 },
        { owner: 'other', counted: 70_000 },
        { owner: 'owner', counted: 18 },
      ])
      const [hello] = files as { id: string }[]
      const content = await other.request('GET', `/store/files/${hello!.id}/content`, { token })
      assert.equal(content.text, 'hello')

      const inList = await app.request('GET', '/store/backups', { token })
      const record = inList.body.backups.find(({ _id }: { _id: string }) => _id === safetyBackup)
      assert.equal(record.kind, 'safety')
      assert.equal(record.documents, 2)

      const replaced = await stateOf(app.app)
      const back = await restore(app, token, safetyBackup)
      assert.equal(back.status, 200, back.text)
      assert.deepEqual(
        (await other.request('GET', '/store/books?sort=_id', { token })).body.data,
        before.map(({ body }) => body).toSorted((a, b) => (a._id < b._id ? -1 : 1)),
      )
      assert.deepEqual((await stateOf(app.app)).files, [])
      await assertClean(app.app, folder)

      // And the first one again, by the second safety backup: the same rows but for the keys of the objects.
      const again = await restore(other, token, back.body.safetyBackup)
      assert.equal(again.status, 200, again.text)
      assert.deepEqual(await stateOf(app.app), replaced)
      await assertClean(app.app, folder)
    })

    test('puts back more files than are written at once', async (t) => {
      const files = Array.from({ length: 200 }, (_, n) => ({
        id: newId(),
        owner: 'owner',
        name: 'small',
        bytes: Buffer.from(`file ${n}`),
      }))
      const { safetyBackup } = await restores().restore({
        file: await fileOf(t, await archiveOf(entriesOf({}, files))),
      })
      assert.equal((await stateOf(app.app)).files.length, 200)
      assert.equal((await restore(app, token, safetyBackup)).status, 200)
      await assertClean(app.app, folder)
    })

    test('is compared with what is stored, before it changes anything', async () => {
      const { body: made } = await app.request('POST', '/store/backup', { token })
      for (const [collection, n] of [
        ['books', 1],
        ['Added', 2],
      ] as const)
        for (let i = 0; i < n; i++) await app.request('POST', `/store/${collection}`, { token, body: { i } })
      await upload(app, token, { bytes: 'added', metadata: { n: 1 } })
      const before = await stateOf(app.app)

      const { status, body, text } = await app.request('GET', `/store/backups/${made._id}/check`, { token })
      assert.equal(status, 200, text)
      assert.deepEqual(body.documents, { archived: made.documents, stored: made.documents + 3 })
      assert.deepEqual(body.files, { archived: made.files, stored: made.files + 1 })
      assert.equal(body.bytes.stored, body.bytes.archived + 5)
      const [first, ...others] = body.collections
      assert.deepEqual(first, { name: 'Added', archived: 0, stored: 2 })
      const books = others.find(({ name }: { name: string }) => name === 'books')
      assert.equal(books.stored, books.archived + 1)
      assert.deepEqual(await stateOf(app.app), before)
      assert.equal((await restore(app, token, made._id)).status, 200)

      const object = join(folder, 'backups', `${made._id}.tar.zst`)
      await writeFile(object, randomBytes(made.size))
      const damaged = await app.request('GET', `/store/backups/${made._id}/check`, { token })
      assert.deepEqual([damaged.status, damaged.body.error.code], [422, 'BACKUP_DAMAGED'])
    })

    test('changes nothing if the archive is damaged', async (t) => {
      const before = await stateOf(app.app)
      const { body: backup } = await app.request('POST', '/store/backup', { token })
      const path = join(folder, 'backups', `${backup._id}.tar.zst`)
      const sample = await archiveOf(sampleEntries())
      // Another whole archive in its place is damage as well.
      await writeFile(path, sample)
      const other = await restore(app, token, backup._id)
      assert.equal(other.status, 422, other.text)
      assert.equal(other.body.error.code, 'BACKUP_DAMAGED')
      assert.match(other.body.error.message, /its SHA-256 is not that of the backup/)
      // What fails last, after documents and files were loaded.
      const entries = sampleEntries()
      entries.at(-1)!.bytes = Buffer.from('{}')
      const file = await fileOf(t, await archiveOf(entries))
      await assert.rejects(restores().restore({ file }), { code: 'BACKUP_DAMAGED' })
      await rm(path)
      assert.equal((await restore(app, token, backup._id)).status, 404)
      assert.equal((await restore(app, token, newId())).status, 404)
      assert.deepEqual(await stateOf(app.app), before)
      await assertClean(app.app, folder)
    })

    test('lets no ETag from before match what is written after it', async () => {
      const change = async (path: string, n: number, ifMatch?: string | null) =>
        app.request('PUT', path, {
          token,
          body: { n },
          ...(ifMatch && { headers: { 'if-match': ifMatch } }),
        })
      const pathOfNew = async () =>
        `/store/books/${(await app.request('POST', '/store/books', { token, body: {} })).body._id}`
      const [changed, same] = [await pathOfNew(), await pathOfNew()]
      const { body: backup } = await app.request('POST', '/store/backup', { token })
      const seen = (await change(changed, 1)).headers.get('etag')
      assert.equal(seen, '"2"')
      assert.equal((await restore(app, token, backup._id)).status, 200)
      assert.equal((await app.request('GET', changed, { token })).headers.get('etag'), '"3"')
      assert.equal((await change(changed, 2)).status, 200)
      assert.equal((await change(changed, 3, seen)).status, 412)
      // One that is the same is still known by its own.
      assert.equal((await change(same, 3, '"1"')).status, 200)
    })

    test('leaves lost files out of the safety backup, and says so', async (t) => {
      const [kept, lost] = [
        await upload(app, token, { bytes: 'kept' }),
        await upload(app, token, { bytes: 'lost' }),
      ]
      const file = await fileOf(t, await archiveOf(sampleEntries()))
      await rm(pathOf(folder, lost))
      const { safetyBackup } = await restores().restore({ file })
      const { body } = await app.request('GET', `/store/backups/${safetyBackup}`, { token })
      assert.equal(body.status, 'completed')
      assert.equal(body.warning, `Without the files whose bytes are missing: ${lost._id}.`)
      await assertClean(app.app, folder)
      assert.equal((await restore(app, token, safetyBackup)).status, 200)
      const content = await app.request('GET', `/store/files/${kept._id}/content`, { token })
      assert.equal(content.text, 'kept')
      assert.equal((await app.request('GET', `/store/files/${lost._id}`, { token })).status, 404)
      assert.equal((await stateOf(app.app)).files.length, body.files)
    })

    test('runs alone: another one, or one beside a backup, is refused', async (t) => {
      const file = await fileOf(t, await archiveOf(sampleEntries()))
      const { body: backup } = await app.request('POST', '/store/backup', { token })
      let second: Promise<number> | undefined
      await restores().restore(
        { file },
        {
          onProgress() {
            second ??= restore(other, token, backup._id).then(({ status, headers }) => {
              assert.ok(headers.get('retry-after'))
              return status
            })
          },
        },
      )
      assert.equal(await second, 409)
      const { db } = app.app
      const now = app.clock.now()
      const id = newId()
      await db.write(sql`
        insert into store_backups (id, kind, status, object, lease_until, created_at)
        values (${id}, 'manual', 'running', ${id}, ${now + 1_000}, ${now})`)
      await assert.rejects(restores().restore({ file }), { status: 409 })
      await db.write(sql`delete from store_backups where id = ${id}`)
    })

    test('has its lease from its own beginning, however long it takes to delete what an earlier one left', async (t) => {
      const file = await fileOf(t, await archiveOf(sampleEntries()))
      const restoring = restores().restore({ file })
      app.clock.advance(16_000)
      await restoring
    })

    test('of a process that was killed ends with the next start: writes go through again', async (t) => {
      const { db } = app.app
      const [id, dead] = [newId(), newId()]
      await db.batch([
        sql`insert into sixwire_processes (id, beat) values (${dead}, 7)`,
        // Its lease is not over within this test: only that its process is gone can end it.
        insertSql(id, 'a file', { now: app.clock.now() + 3_600_000, process: dead }),
        ...closeGateSql[db.dialect],
      ])
      const next = await startApp(t, engine, {
        databaseUrl: app.app.settings.databaseUrl,
        environment: { DATA_DIR: folder },
      })
      const write = async () => (await next.request('POST', '/store/books', { token, body: {} })).status
      if (engine.name === 'sqlite') assert.equal(await write(), 201)
      let seconds = 0
      await until(async () => {
        if (seconds++ < 14) next.clock.advance(1_000)
        return (await write()) === 201
      })
      const row = await db.get(sql`select reason from store_restores where id = ${id}`)
      assert.match(String(row!['reason']), /ended before it was finished/)
      await assertClean(app.app, folder)
    })

    test('whose process has died ends with its lease: writes are refused until then, reading goes on', async () => {
      const before = await stateOf(app.app)
      const { db } = app.app
      const id = newId()
      const made = await app.request('POST', '/store/books', { token, body: { a: 1 } })
      const path = `/store/books/${made.body._id}`
      await db.write(insertSql(id, 'a file', { now: app.clock.now(), process: 'p' }))
      await db.batch(closeGateSql[db.dialect])
      await db.write(sql`
        insert into store_restored_documents values (${id}, 'books', ${newId()}, 'owner', 1, '{}')`)
      for (const [replica, method, to] of [
        [app, 'POST', '/store/books'],
        [other, 'POST', '/store/books'],
        [other, 'PUT', path],
        [app, 'DELETE', path],
      ] as const) {
        const refused = await replica.request(method, to, { token, ...(method !== 'DELETE' && { body: {} }) })
        assert.equal(refused.status, 503, refused.text)
        assert.equal(refused.body.error.code, 'UNAVAILABLE')
        assert.match(refused.body.error.message, /^A backup is being restored/)
        assert.equal(refused.headers.get('retry-after'), '5')
      }
      assert.equal((await other.request('GET', path, { token })).status, 200)
      assert.equal((await other.request('GET', '/store/books', { token })).status, 200)

      for (let tries = 0; (await other.request('PUT', path, { token, body: {} })).status !== 200; tries++) {
        if (tries < 30) app.clock.advance(1_000)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      assert.equal((await app.request('DELETE', path, { token })).status, 200)
      await other.app.service('store').restores.recover()
      await assertClean(app.app, folder)
      assert.deepEqual(await stateOf(app.app), before)
    })

    test('keeps the old state if what it had loaded is lost, as by a crash of PostgreSQL', async (t) => {
      await app.request('POST', '/store/books', { token, body: {} })
      const before = await stateOf(app.app)
      const file = await fileOf(t, await archiveOf(sampleEntries()))
      let losing: Promise<unknown> | undefined
      await assert.rejects(
        restores().restore(
          { file },
          {
            onProgress({ phase }) {
              if (phase === 'Backup') losing ??= app.app.db.write(sql`delete from store_restored_documents`)
            },
          },
        ),
        { status: 503, message: /was lost: nothing was changed/ },
      )
      await losing
      assert.deepEqual(await stateOf(app.app), before)
      await assertClean(app.app, folder)
    })

    test('keeps the old state if the safety backup cannot be made', async (t) => {
      const before = await stateOf(app.app)
      const file = await fileOf(t, await archiveOf(sampleEntries()))
      const stop = new AbortController()
      await assert.rejects(
        restores().restore(
          { file },
          { signal: stop.signal, onProgress: ({ phase }) => void (phase !== 'Check' && stop.abort()) },
        ),
        { status: 503, message: /was stopped before it was finished/ },
      )
      assert.deepEqual(await stateOf(app.app), before)
      await assertClean(app.app, folder)
      assert.equal((await app.request('POST', '/store/books', { token, body: {} })).status, 201)
    })
  })
})

/** JSON of all kinds of values, in forms that only the text keeps apart. */
function oddValue(random: () => number, depth = 0): string {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const inner = (): string => oddValue(random, depth + 1)
  const texts = [
    '""',
    '"\\u00e9"',
    '"é"',
    '"\\ud83d\\ude00"',
    '"😀"',
    '"a\\/b"',
    '"\\n\\t\\\\"',
    '"\u2028"',
    '",\\"document\\":"',
  ]
  const numbers = [
    '0',
    '-0',
    '1.50',
    '1E2',
    '1e-7',
    '9007199254740991',
    '123456789012345670000',
    '0.1',
    '-1.0',
  ]
  const names = ['""', '" "', '"é"', '"b"', '"a"', '"10"', '"9"', '"\\u0061b"', '"a.b"', '"toString"']
  const kind =
    depth > 3 ? pick(['text', 'number', 'word']) : pick(['text', 'number', 'word', 'list', 'object'])
  if (kind === 'text') return pick(texts)
  if (kind === 'number') return pick(numbers)
  if (kind === 'word') return pick(['true', 'false', 'null', '[]', '{}', '[ ]', '{ }'])
  const length = Math.floor(random() * 4)
  if (kind === 'list') return `[${Array.from({ length }, inner).join(pick([',', ', ', ' ,']))}]`
  const keys = new Set(Array.from({ length }, () => pick(names)))
  return `{${[...keys].map((key) => `${key}${pick([':', ' : '])}${inner()}`).join(',')}}`
}

function oddEntries(seed: number) {
  let state = seed
  const random = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32
  const documents = Array.from({ length: 300 }, (_, at) =>
    documentOf(`"":${oddValue(random)},"v":${oddValue(random)}`, `owner"\\é${at % 7}`, 1 + at ** 4),
  )
  const largest = documentOf(`"text":"${'é'.repeat((1_048_576 - 12) / 2)}"`)
  const bytes = Buffer.from(Array.from({ length: 5_000 }, () => random() * 256))
  return entriesOf({ 'A-': documents, Aa: [largest], a_: [documentOf('')] }, [
    { id: newId(), owner: 'x', name: '😀 "\\/é', bytes, metadata: `{"b" : 1.50, "a":${oddValue(random)}}` },
  ])
}

// One inside the other, so that both are there.
eachEngine((one) => {
  if (one.name !== 'sqlite') return
  eachEngine((other) => {
    if (other.name !== 'postgres') return
    test('an archive of one engine restores on the other one and back, byte by byte', async (t) => {
      const servers = [await startApp(t, one), await startApp(t, other)] as const
      const states: unknown[] = []
      const seed = randomInt(2 ** 31)
      t.diagnostic(`seed of the documents: ${seed}`)
      let source = await fileOf(t, await archiveOf(oddEntries(seed)))
      for (const { app } of [servers[0], servers[1], servers[0]]) {
        const { backups, restores } = app.service('store')
        await restores.restore({ file: source })
        states.push(await stateOf(app))
        const { id, done } = await backups.create('manual')
        await done
        const { bytes } = await backups.open(id)
        source = await fileOf(t, await buffer(bytes))
      }
      assert.equal((states[0] as Awaited<ReturnType<typeof stateOf>>).documents.length, 302)
      assert.deepEqual(states[1], states[0])
      assert.deepEqual(states[2], states[0])
    })
  })
})
