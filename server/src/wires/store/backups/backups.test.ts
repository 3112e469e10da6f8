import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { startApp, testClock, type TestApp } from '../../../testing/app.ts'
import { eachEngine, endOfSuite, someEngine, temporaryFolder } from '../../../testing/engines.ts'
import { upload, type Uploaded } from '../files/content/file-content.fixture.ts'
import { download, holdAt, pathOf, readWhole, type Archived } from './backups.fixture.ts'
import { insertSql } from './restore-rows.ts'
import { until } from '../../../testing/until.ts'

const run = promisify(execFile)
const LEASE_MS = 15_000
const MINUTE_MS = 60_000

eachEngine((engine) => {
  let app: TestApp
  let token: string
  let folder: string
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    app = await startApp(ending, engine, { environment: { DATA_DIR: folder } })
    token = (await app.register()).token
  })
  const backUp = () => app.request('POST', '/store/backup', { token })
  const get = async (id: string) => (await app.request('GET', `/store/backups/${id}`, { token })).body
  const newest = async () => (await app.request('GET', '/store/backups?limit=1', { token })).body.backups[0]
  const create = async (collection: string, body: object) =>
    (await app.request('POST', `/store/${collection}`, { token, body })).body
  const archives = () => readdir(join(folder, 'backups')).catch((): string[] => [])
  const read = async (id: string) => readWhole(await download(app, token, id))

  test('a backup holds every document and file, and none where there are none', async () => {
    const nothing = await backUp()
    assert.equal(nothing.status, 201, nothing.text)
    assert.partialDeepStrictEqual(nothing.body, {
      status: 'completed',
      kind: 'manual',
      collections: 0,
      documents: 0,
      files: 0,
    })
    assert.deepEqual((await read(nothing.body._id)).collections, [])

    const bodies = new Map<string, string[]>()
    for (const [name, fields] of [
      ['b_c', { text: 'é "\\ \n \u2028 \u007f 😀' }],
      ['b-c', {}],
      ['Z', { long: 'x'.repeat(1_000_000) }],
      ['Z', { n: [0.1, -5, 9007199254740991] }],
      ['a'.repeat(64), { '': null }],
    ] as const) {
      const { status, text } = await app.request('POST', `/store/${name}`, { token, body: fields })
      assert.equal(status, 201, text)
      bodies.set(name, [...(bodies.get(name) ?? []), text])
    }
    const files = [
      await upload(app, token, { name: 'ü 1.txt', bytes: 'hello' }),
      await upload(app, token, { bytes: '' }),
      await upload(app, token, { bytes: Buffer.alloc(300_000, 'abc') }),
    ]
    const { body: backup, headers } = await backUp()
    assert.equal(headers.get('location'), `/store/backups/${backup._id}`)
    assert.deepEqual([backup.collections, backup.documents, backup.files], [4, 5, 3])
    assert.deepEqual(await get(backup._id), backup)

    const archive = await download(app, token, backup._id)
    assert.equal(archive.length, backup.size)
    const whole = await readWhole(archive)
    assert.deepEqual(whole.collections, ['Z', 'a'.repeat(64), 'b-c', 'b_c'])
    for (const [name, texts] of bodies)
      assert.deepEqual(
        whole.documents.get(name)!.map(({ body }) => body),
        texts,
      )
    for (const file of files)
      assert.equal(whole.content.get(file._id)!.length, file.size, 'the bytes of each file are in it')
    assert.equal(whole.files[0]!.originalName, 'ü 1.txt')

    const file = join(folder, 'a.tar.zst')
    await writeFile(file, archive)
    const { stdout } = await run('tar', ['--zstd', '-tf', file])
    assert.deepEqual(stdout.trim().split('\n'), [
      ...whole.collections.map((name) => `collections/${name}.jsonl`),
      'files.jsonl',
      ...files.map(({ _id }) => `files/${_id}`),
      'manifest.json',
    ])

    const part = await app.request('GET', `/store/backups/${backup._id}/archive`, {
      token,
      headers: { range: 'bytes=4-9' },
    })
    assert.deepEqual([part.status, part.headers.get('content-length')], [206, '6'])
    const { status } = await app.request('GET', '/store/health')
    assert.equal(status, 200)
    const { backup: health } = (await app.request('GET', '/store/health')).body
    assert.deepEqual(health, { enabled: false, lastBackup: backup.completedAt })
  })

  test('a backup shows one moment in time while writes go on', async () => {
    const state = { isOver: false, created: 0, files: 0 }
    // Each `b` is created after its `a`, and deleted before it; each `ref` has its file.
    async function writePairs(writer: number): Promise<void> {
      for (let n = 0; !state.isOver; n++) {
        const a = await create('a', { writer, n })
        const b = await create('b', { a: a._id })
        await create('order', { writer, n })
        state.created++
        if (n % 3 !== 0) continue
        await app.request('DELETE', `/store/b/${b._id}`, { token })
        await app.request('DELETE', `/store/a/${a._id}`, { token })
      }
    }
    async function writeFiles(): Promise<void> {
      while (!state.isOver) {
        const file = await upload(app, token, { bytes: `file ${state.files++}` })
        const ref = await create('ref', { file: file._id })
        if (state.files % 2 !== 0) continue
        await app.request('DELETE', `/store/ref/${ref._id}`, { token })
        await app.request('DELETE', `/store/files/${file._id}`, { token })
      }
    }
    const writers = [writePairs(0), writePairs(1), writePairs(2), writeFiles()]
    const moments: { id: string; first: Map<number, number>; last: Map<number, number> }[] = []
    try {
      for (let i = 0; i < 3; i++) {
        await until(() => state.created > 20 * (i + 1))
        const first = await lastOfWriters()
        const { status, body, text } = await backUp()
        assert.equal(status, 201, text)
        moments.push({ id: body._id, first, last: await lastOfWriters() })
      }
    } finally {
      state.isOver = true
      await Promise.all(writers)
    }
    assert.ok(state.files > 2)
    for (const { id, first, last } of moments) checkMoment(await read(id), first, last)
  })

  /** How far each writer is, at this moment or later. */
  async function lastOfWriters(): Promise<Map<number, number>> {
    const { data } = (await app.request('GET', '/store/order?limit=1000', { token })).body
    return lastOf(data as { writer: number; n: number }[])
  }

  function checkMoment(
    { documents, files, content }: Archived,
    first: Map<number, number>,
    last: Map<number, number>,
  ): void {
    const fieldsOf = (name: string) =>
      (documents.get(name) ?? []).map(
        ({ body }) => JSON.parse(body) as { _id: string; a: string; file: string; writer: number; n: number },
      )
    const all = new Set(fieldsOf('a').map(({ _id }) => _id))
    for (const { a } of fieldsOf('b'))
      assert.ok(all.has(a), `no document of a later transaction without ${a}`)
    const order = fieldsOf('order')
    for (const [writer, n] of lastOf(order)) {
      assert.ok(n >= (first.get(writer) ?? 0), 'nothing is missing that was written before')
      assert.ok(n <= last.get(writer)!, 'nothing is in it that was written after')
      const own = order.filter((one) => one.writer === writer)
      assert.equal(own.length, n + 1, 'none is missing before the last one')
    }
    for (const { file } of fieldsOf('ref')) assert.ok(content.has(file), 'each file is in it')
    assert.deepEqual(
      [...content.keys()],
      files.map(({ id }) => id),
    )
    for (const [, bytes] of content) assert.ok(bytes.length > 0 || files.some(({ size }) => size === 0))
  }

  const lastOf = (written: readonly { writer: number; n: number }[]): Map<number, number> =>
    written.reduce(
      (map, { writer, n }) => map.set(writer, Math.max(n, map.get(writer) ?? 0)),
      new Map<number, number>(),
    )

  describe('one that takes long', () => {
    const hold = async (t: TestContext) => {
      const gate = await holdAt(pathOf(folder, await upload(app, token, { bytes: '' })))
      t.after(() => gate.end())
      return gate
    }

    test('is answered with 202, is alone, and keeps the files that are deleted meanwhile', async (t) => {
      const [first, second] = [await hold(t), await hold(t)]
      const other = await upload(app, token, { bytes: 'deleted meanwhile' })
      const answered = backUp()
      await first.pass()
      const { _id } = await newest()
      await app.request('DELETE', `/store/files/${other._id}`, { token })
      const refused = await backUp()
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'CONFLICT'])
      assert.equal(refused.headers.get('retry-after'), '5')
      for (const [method, path] of [
        ['DELETE', `/store/backups/${_id}`],
        ['GET', `/store/backups/${_id}/archive`],
      ] as const)
        assert.equal((await app.request(method, path, { token })).status, 409)
      app.clock.advance(10_000)
      const { status, body } = await answered
      assert.deepEqual([status, body.status, body._id], [202, 'running', _id])
      await until(async () => (await get(_id)).progress !== undefined)
      const { done, total } = (await get(_id)).progress
      assert.ok(done > 0 && done < total, `${done} of ${total} bytes`)
      await second.pass()
      await until(async () => (await newest()).status !== 'running')
      assert.deepEqual([(await newest()).status, (await newest()).progress], ['completed', undefined])
      const { content } = await read(_id)
      assert.equal(content.get(other._id)!.toString(), 'deleted meanwhile')
    })

    test('ends when its lease is over', async () => {
      const id = newId()
      const now = app.clock.now()
      await app.app.db.write(sql`
        insert into store_backups (id, kind, status, object, lease_until, created_at)
        values (${id}, 'manual', 'running', 'x', ${now + LEASE_MS}, ${now})`)
      assert.equal((await backUp()).status, 409)
      app.clock.advance(LEASE_MS)
      await until(async () => (await get(id)).status === 'failed')
      assert.match((await get(id)).error, /ended before it was finished/)
      assert.equal((await backUp()).status, 201)
    })
  })

  describe('one that fails leaves its reason and nothing else', () => {
    const failing = async (reason: RegExp, expected = 500) => {
      const stored = await archives()
      const { status, body } = await backUp()
      assert.equal(status, expected, JSON.stringify(body))
      assert.match(body.error.message, reason)
      const record = await newest()
      assert.equal(record.status, 'failed')
      assert.match(record.error, reason)
      assert.deepEqual(await archives(), stored)
      assert.equal((await app.request('GET', `/store/backups/${record._id}/archive`, { token })).status, 409)
      const unclaimed = await app.app.db.all(
        sql`select key from store_unclaimed where storage = 'backups' and state = 'writing'`,
      )
      assert.deepEqual(unclaimed, [])
    }
    let file: Uploaded
    before(async () => {
      file = await upload(app, token, { bytes: 'some bytes' })
    })

    test('the bytes of a file are missing, or others', async () => {
      const path = pathOf(folder, file)
      await rename(path, `${path}.away`)
      await failing(new RegExp(`The bytes of the file ${file._id} are missing`))
      for (const text of ['some-bytes', '']) {
        await writeFile(path, text)
        await failing(new RegExp(`The bytes of the file ${file._id} are not those that were uploaded`))
      }
      await rename(`${path}.away`, path)
      assert.equal((await backUp()).status, 201)
    })

    test('the backups storage does not work', async () => {
      const path = join(folder, 'backups')
      await rename(path, `${path}.away`)
      await writeFile(path, '')
      try {
        await failing(/./, 503)
        assert.ok(!(await newest()).error.includes(folder), 'no path of this machine')
      } finally {
        await rm(path)
        await rename(`${path}.away`, path)
      }
      assert.equal((await backUp()).status, 201)
    })
  })

  test('backups are listed and deleted, and a repeated call with an Idempotency-Key makes none', async () => {
    const headers = { 'idempotency-key': newId() }
    const [first, again] = [
      await app.request('POST', '/store/backup', { token, headers }),
      await app.request('POST', '/store/backup', { token, headers }),
    ]
    assert.equal(again.text, first.text)
    const { backups, total, nextCursor } = (await app.request('GET', '/store/backups?limit=2', { token }))
      .body
    assert.equal(backups[0]._id, first.body._id)
    const after = (await app.request('GET', `/store/backups?limit=1000&cursor=${nextCursor}`, { token })).body
    assert.equal(backups.length + after.backups.length, total)

    const path = `/store/backups/${first.body._id}`
    assert.equal((await app.request('DELETE', path, { token })).status, 200)
    for (const [method, gone] of [
      ['GET', path],
      ['GET', `${path}/archive`],
      ['DELETE', path],
    ] as const)
      assert.equal((await app.request(method, gone, { token })).status, 404)
    await until(async () => !(await archives()).includes(`${first.body._id}.tar.zst`))
  })

  test('surplus backups are kept while a restore runs', async () => {
    const { backups } = app.app.service('store')
    const manual = () =>
      app.app.db.all(sql`select status from store_backups where kind = 'manual' order by status`)
    const before = await manual()
    assert.ok(before.length > 2)
    const id = newId()
    await app.app.db.write(insertSql(id, 'x', { now: app.clock.now(), process: 'p' }))
    await backups.removeSurplus('manual', 1)
    assert.deepEqual(await manual(), before)
    await app.app.db.write(sql`delete from store_restores where id = ${id}`)
    await backups.removeSurplus('manual', 1)
    assert.deepEqual(await manual(), [{ status: 'completed' }, { status: 'failed' }])
  })

  test('scheduled backups are made by one of two replicas, and the newest are kept', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const clock = testClock()
    const options = {
      databaseUrl,
      clock,
      environment: { DATA_DIR: await temporaryFolder(t) },
      config: { store: { backups: { every: '10m', keep: 2 } } },
    }
    const one = await startApp(t, engine, options)
    await startApp(t, engine, options)
    const { token } = await one.register()
    const list = async () => (await one.request('GET', '/store/backups', { token })).body.backups
    // The next run is planned when one ends: a clock that is advanced before would move it past the next round.
    const isPlanned = async () =>
      (
        await one.app.db.all(sql`
        select id from sixwire_jobs
        where id = 'every-store.backup' and claimed_by is null and run_at > ${clock.now()}`)
      ).length === 1
    const seenIds = new Set<string>()
    for (let round = 1; round <= 4; round++) {
      await until(isPlanned)
      clock.advance(10 * MINUTE_MS)
      await until(async () => {
        const [last, ...earlier] = await list()
        if (last && !seenIds.has(last._id))
          assert.equal(earlier.filter(({ _id }: { _id: string }) => !seenIds.has(_id)).length, 0)
        return last?.status === 'completed' && !seenIds.has(last._id)
      })
      for (const { _id, kind } of await list()) {
        assert.equal(kind, 'scheduled')
        seenIds.add(_id)
      }
    }
    assert.equal(seenIds.size, 4)
    await until(async () => (await list()).length === 2)
    const { backup } = (await one.request('GET', '/store/health')).body
    assert.equal(backup.enabled, true)
  })
})

someEngine((engine) => {
  test('only administrators and keys with their scope reach backups under guarded', async (t) => {
    const guarded = await startApp(t, engine, { environment: { SIXWIRE_POLICY: 'guarded' } })
    // The first account is an administrator.
    const { token: admin } = await guarded.register()
    const { token: user } = await guarded.register()
    const { keys } = guarded.app.service('auth')
    const { key: backups } = await keys.create('backups', ['store:backup'])
    const { key: store } = await keys.create('store', ['store'])
    const { key: reading } = await keys.create('reading', ['store:read'])
    const { key: other } = await keys.create('other', ['pay'])
    const backup = await guarded.request('POST', '/store/backup', { token: backups })
    assert.equal(backup.status, 201, backup.text)
    const path = `/store/backups/${backup.body._id}`
    for (const [token, expected] of [
      [undefined, [401, 401, 401, 401, 401, 401, 401]],
      [user, [403, 403, 403, 403, 403, 403, 403]],
      [other, [403, 403, 403, 403, 403, 403, 403]],
      [reading, [200, 200, 200, 200, 403, 403, 403]],
      // It replaces documents, which its scope does not reach.
      [backups, [200, 200, 200, 200, 403, 201, 200]],
      [store, [200, 404, 404, 404, 404, 201, 404]],
      [admin, [200, 404, 404, 404, 404, 201, 404]],
    ] as const) {
      const answers = []
      for (const [method, to] of [
        ['GET', '/store/backups'],
        ['GET', path],
        ['GET', `${path}/archive`],
        ['GET', `${path}/check`],
        ['POST', `/store/backup/${backup.body._id}/restore`],
        ['POST', '/store/backup'],
        ['DELETE', path],
      ] as const)
        answers.push((await guarded.request(method, to, { ...(token && { token }) })).status)
      assert.deepEqual(answers, expected)
    }
  })

  test('under open in production only administrators restore or delete backups', async (t) => {
    const environment = { NODE_ENV: 'production', HOST: '127.0.0.1', SIXWIRE_POLICY: 'open' }
    const production = await startApp(t, engine, { environment })
    const { token } = await production.register()
    const boss = await production.register()
    await production.app.service('auth').users.promote(boss.email)
    const backup = await production.request('POST', '/store/backup', { token })
    assert.equal(backup.status, 201, backup.text)
    const path = `/store/backups/${backup.body._id}`
    assert.equal((await production.request('GET', path, { token })).status, 200)
    const statuses = async (as: string) => {
      const restored = await production.request('POST', `/store/backup/${backup.body._id}/restore`, {
        token: as,
      })
      return [restored.status, (await production.request('DELETE', path, { token: as })).status]
    }
    assert.deepEqual(await statuses(token), [403, 403])
    assert.deepEqual(await statuses(boss.token), [200, 200])
  })

  test('a backup that runs while the server ends fails', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const DATA_DIR = await temporaryFolder(t)
    const start = () => startApp(t, engine, { databaseUrl, environment: { DATA_DIR } })
    const first = await start()
    const { token } = await first.register()
    await upload(first, token, { bytes: Buffer.alloc(2_000_000, 'a') })
    let closing: Promise<void> | undefined
    const { id, done } = await first.app.service('store').backups.create('manual', {
      onProgress: () => void (closing ??= first.app.close()),
    })
    await assert.rejects(done, /It was stopped before it was finished/)
    await closing
    const { app } = await start()
    assert.equal((await app.service('store').backups.get(id)).status, 'failed')
    assert.deepEqual(await readdir(join(DATA_DIR, 'backups')), [])
  })
})
