import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'

import { ApiError } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { sql } from '../../../db/sql.ts'
import { eachEngine } from '../../../testing/engines.ts'
import { isLongRun } from '../../../testing/long-run.ts'
import { until } from '../../../testing/until.ts'
import { pieces, recordSql, setUp } from './objects.fixture.ts'
import type { NewObject } from './objects.ts'
import { NoSuchObject } from './storage.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const RACES = isLongRun ? 300 : 12

const unavailable = (error: unknown): boolean => error instanceof ApiError && error.status === 503

eachEngine((engine) => {
  test('an object has a row until a record names it, and again after the record is deleted', async (t) => {
    const { db, objects, rows, names } = await setUp(t, engine)
    let before: unknown[] = []
    const object = await objects.write(
      'uploads',
      (async function* () {
        before = [(await rows()).length, await names()]
        yield* pieces()
      })(),
    )
    assert.deepEqual(before, [1, []])
    assert.deepEqual(
      (await rows()).map(({ key, state }) => [key, state]),
      [[object.key, 'writing']],
    )
    await db.batch([recordSql(object), object.claimSql])
    assert.deepEqual(await rows(), [])
    await objects.collectGarbage()
    assert.equal((await (await objects.read('uploads', object.key)).toArray()).join('').length > 0, true)

    const recordDeletion = [
      ...objects.discardSql('uploads', sql`select object as key from store_files`),
      sql`delete from store_files`,
    ]
    await assert.rejects(db.batch([...recordDeletion, sql`insert into nowhere values (1)`]))
    await objects.collectGarbage()
    assert.deepEqual(await names(), [object.key])
    await db.batch(recordDeletion)
    // The collection that the commit began, or this one.
    await objects.collectGarbage()
    assert.deepEqual([await names(), await rows()], [[], []])
  })

  test('bytes that fail leave neither bytes nor a row', async (t) => {
    const { objects, rows, names } = await setUp(t, engine)
    const cut = new Error('cut')
    const writing = objects.write(
      'uploads',
      (async function* () {
        yield* pieces(20, 65_536)
        throw cut
      })(),
    )
    await assert.rejects(writing, (error) => error === cut)
    assert.deepEqual([await names(), await rows()], [[], []])
  })

  test('an unclaimed object is discarded, a claimed one is not', async (t) => {
    const { db, objects, rows, names } = await setUp(t, engine)
    const claimed = await objects.write('uploads', pieces())
    await db.batch([recordSql(claimed), claimed.claimSql])
    const unused = await objects.write('uploads', pieces())
    await Promise.all([claimed.discard(), unused.discard(), unused.discard()])
    assert.deepEqual([await names(), await rows()], [[claimed.key], []])
    await assert.rejects(db.batch([recordSql(unused), unused.claimSql]), unavailable)
    assert.equal((await db.all(sql`select id from store_files`)).length, 1)
  })

  test('a writer has an hour after the last bytes, and then can claim nothing', async (t) => {
    const { db, objects, clock, rows, names } = await setUp(t, engine)
    const slow = await objects.write(
      'uploads',
      (async function* () {
        for (let n = 0; n < 4; n++) {
          yield* pieces(9, 65_536)
          clock.advance(40 * MINUTE)
          await objects.collectGarbage()
        }
      })(),
    )
    await objects.collectGarbage()
    assert.deepEqual(await names(), [slow.key])
    clock.advance(HOUR)
    await objects.collectGarbage()
    assert.deepEqual([await names(), await rows()], [[], []])
    await assert.rejects(db.batch([recordSql(slow), slow.claimSql]), unavailable)
    assert.deepEqual(await db.all(sql`select id from store_files`), [])

    for (const last of [9, 0]) {
      const stalled = objects.write(
        'uploads',
        (async function* () {
          yield* pieces(last, 65_536)
          await turn()
          clock.advance(2 * HOUR)
          await objects.collectGarbage()
          yield* pieces(last, 65_536)
        })(),
      )
      await assert.rejects(stalled, unavailable)
      assert.deepEqual([await names(), await rows()], [[], []])
    }
  })

  test('a claim and the garbage collector at the same moment: the record with its bytes, or neither', async (t) => {
    const { db, objects, clock, names } = await setUp(t, engine)
    let claims = 0
    const expected: string[] = []
    for (let race = 0; race < RACES; race++) {
      const object = await objects.write('uploads', pieces(1))
      clock.advance(2 * HOUR)
      const claim = () => db.batch([recordSql(object), object.claimSql]).then(() => true, unavailable)
      const [isClaimed] = await Promise.all([
        race % 3 === 1 ? turn().then(claim) : claim(),
        race % 3 === 2 ? turn().then(() => objects.collectGarbage()) : objects.collectGarbage(),
      ])
      const [record] = await db.all(sql`select id from store_files where object = ${object.key}`)
      assert.equal(record !== undefined, (await names()).includes(object.key), `race ${race}`)
      if (isClaimed && record) claims++
      if (record) expected.push(object.key)
    }
    t.diagnostic(`${claims} of ${RACES} claims came first`)
    assert.deepEqual(await names(), expected.toSorted())
  })

  test('replicas that collect garbage at once share what there is', async (t) => {
    const first = await setUp(t, engine)
    const second = await first.replica()
    const objects: NewObject[] = await Promise.all(
      Array.from({ length: 120 }, (_, n) => (n % 2 ? first : second).objects.write('uploads', pieces(1))),
    )
    await Promise.all(objects.slice(0, 10).map((one) => first.db.batch([recordSql(one), one.claimSql])))
    first.clock.advance(2 * HOUR)
    await Promise.all([
      first.objects.collectGarbage(),
      second.objects.collectGarbage(),
      first.objects.collectGarbage(),
    ])
    assert.deepEqual(
      await first.names(),
      objects
        .slice(0, 10)
        .map(({ key }) => key)
        .toSorted(),
    )
    assert.deepEqual(await first.rows(), [])
    assert.deepEqual(
      first.lines.filter((line) => line.includes('could not')),
      [],
    )
  })

  for (const [what, leaseSql] of [
    [
      'a backup',
      (now: number) => sql`
        insert into store_backups (id, kind, status, object, lease_until, created_at)
        values (${newId()}, 'manual', 'running', 'a.tar.zst', ${now + 15_000}, ${now})`,
    ],
    [
      'an archive',
      (now: number) => sql`
        insert into store_object_readers (id, lease_until) values (${newId()}, ${now + 15_000})`,
    ],
  ] as const)
    test(`while ${what} is made no garbage is collected, unless its process has died`, async (t) => {
      const { db, objects, clock, names } = await setUp(t, engine)
      const object = await objects.write('uploads', pieces())
      clock.advance(2 * HOUR)
      await db.write(leaseSql(clock.now()))
      await objects.collectGarbage()
      assert.deepEqual(await names(), [object.key])
      clock.advance(15_000)
      await objects.collectGarbage()
      assert.deepEqual(await names(), [])
    })

  test('an object that cannot be deleted keeps its row, and is deleted when the storage works again', async (t) => {
    const { objects, clock, jobs, lines, rows, names, uploads } = await setUp(t, engine)
    await objects.write('uploads', pieces())
    await rename(uploads, `${uploads}-away`)
    await writeFile(uploads, 'no folder')
    clock.advance(2 * HOUR)
    await objects.collectGarbage()
    assert.equal(lines.filter((line) => line.includes('deleted later')).length, 1)
    assert.deepEqual(
      (await rows()).map(({ state }) => state),
      ['deleting'],
    )
    await rm(uploads)
    await rename(`${uploads}-away`, uploads)
    await objects.collectGarbage()
    assert.equal((await names()).length, 1)
    // By the job of any replica.
    await jobs.start()
    clock.advance(5 * MINUTE)
    await until(async () => (await rows()).length === 0)
    assert.deepEqual(await names(), [])
  })

  test('the rows of many objects are inserted together, and those that are not used are deleted', async (t) => {
    const { db, objects, clock, rows } = await setUp(t, engine)
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 15; n++) {
        const object = await objects.write('uploads', pieces(1))
        await db.batch([recordSql(object), object.claimSql])
      }
    }
    await Promise.all(Array.from({ length: 8 }, writer))
    const unused = await rows()
    assert.ok(unused.length > 0 && unused.length <= 128, `${unused.length} unused keys`)
    assert.equal(new Set(unused.map(({ key }) => key.slice(-2))).size <= 3, true)
    clock.advance(MINUTE)
    await until(async () => (await rows()).length === 0)
    // What a crash left goes with the garbage.
    await Promise.all(Array.from({ length: 8 }, writer))
    clock.advance(2 * HOUR)
    await objects.collectGarbage()
    assert.deepEqual(await rows(), [])
    // One that has become old is not used.
    const object = await objects.write('uploads', pieces(1))
    await db.batch([recordSql(object), object.claimSql])
  })

  test('an object of a fixed key is written once', async (t) => {
    const { db, objects, uploads } = await setUp(t, engine)
    const key = `${newId()}.tar.zst`
    const first = await objects.write('backups', pieces(), { key })
    await assert.rejects(
      objects.write('backups', pieces(), { key }),
      (error) => error instanceof ApiError && error.status === 409,
    )
    await db.batch([first.claimSql])
    assert.equal((await (await objects.read('backups', key, { start: 0, end: 9 })).toArray())[0].length, 10)
    await assert.rejects(objects.read('uploads', key), unavailable)
    await objects.write('uploads', pieces())
    await assert.rejects(objects.read('uploads', key), NoSuchObject)
    await rm(uploads, { recursive: true })
    await assert.rejects(objects.read('uploads', key), unavailable)
    await assert.rejects(objects.write('uploads', pieces()), unavailable)
  })
})
