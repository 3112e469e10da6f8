// Documents are written on several replicas while indexes are added, built, dropped and failed.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { newId } from '../../../../base/ids.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'
import { until } from '../../../../testing/until.ts'
import { insertSql } from '../document-rows.ts'
import { withoutIndexes } from './index-rows.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

const DOCUMENTS = isLongRun ? 3_000 : 120
const WRITES_BETWEEN = isLongRun ? 3_000 : 80
const WRITERS = 6
// So that a batch of a build is a part of the documents only.
const PADDING = 'x'.repeat(20_000)

const FIRST = { books: ['year,-title', 'tags', { fields: 'serial', unique: true }] }
const SECOND = { books: ['year,-title', 'tags,year', 'author.name', { fields: 'year', unique: true }] }

eachEngine((engine) => {
  test('the entries are those of the documents', async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    t.diagnostic(`seed ${seed}`)
    const random = randomFrom(seed)
    const databaseUrl = await engine.migratedUrl()
    const start = async (indexes = {}) => startApp(t, engine, { databaseUrl, config: { store: { indexes } } })
    const replicas: TestApp[] = [await start()]
    const { token } = await replicas[0]!.register()
    const ids: string[] = []
    let serial = 0
    const fields = () => ({
      serial: random(3) === 0 ? random(200) + 100_000 : serial++,
      year: [1973, null, random(5), [random(3), random(3)], undefined][random(5)],
      title: String(random(20)),
      tags: Array.from({ length: random(4) }, () => ['a', 'b', 3, {}, []][random(5)]),
      author: random(2) === 0 ? { name: random(3) } : [{ name: 1 }, 5],
      padding: PADDING.slice(random(PADDING.length)),
    })

    async function write(isCreate: boolean): Promise<void> {
      const app = replicas[random(replicas.length)]!
      const id = ids[random(ids.length)]
      if (isCreate || id === undefined) {
        const made = await app.request('POST', '/store/books', { token, body: fields() })
        if (made.status === 201) ids.push(made.body._id)
        else assert.ok([400, 409].includes(made.status), made.text)
        return
      }
      const { padding, ...body } = fields()
      const isUpdate = random(3) > 0
      const { status, text } = await app.request(isUpdate ? 'PUT' : 'DELETE', `/store/books/${id}`, {
        token,
        ...(isUpdate && { body }),
      })
      assert.ok([200, 404, ...(isUpdate ? [400, 409] : [])].includes(status), text)
    }

    let [writes, isOver] = [0, false]
    async function keepWriting(): Promise<void> {
      while (!isOver) {
        await write(random(3) === 0)
        writes++
      }
    }
    const someWrites = async () => {
      const enough = writes + WRITES_BETWEEN
      await until(() => writes >= enough)
    }

    while (ids.length < DOCUMENTS) await Promise.all(Array.from({ length: 30 }, () => write(true)))
    const writers = Promise.all(Array.from({ length: WRITERS }, keepWriting))
    try {
      await someWrites()
      replicas.push(await start(FIRST))
      await someWrites()
      replicas.push(await start(SECOND))
      await someWrites()
    } finally {
      isOver = true
      await writers
    }
    await readyIndexes(replicas[0]!)
    await assertEntries(replicas[0]!)
    assert.deepEqual(
      (await indexesOf(replicas[0]!)).map(({ names, state }) => [names, state]),
      [
        ['year,-title', 'ready'],
        ['tags,year', 'failed'],
        ['author.name', 'ready'],
        ['year', 'failed'],
      ],
    )
  })
})

eachEngine((engine) => {
  if (engine.name === 'postgres')
    test('an index waits for writes that began before it and do not know of it', async (t) => {
      const databaseUrl = await engine.migratedUrl()
      const old = await startApp(t, engine, { databaseUrl })
      const { token, _id: owner } = await old.register()
      await old.request('POST', '/store/books', { token, body: { year: 1 } })
      const [isWritten, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const writing = old.app.db.transaction(
        async (tx) => {
          await tx.write(
            insertSql(
              'postgres',
              { collection: 'books', id: newId(), owner, body: '{"year":2}' },
              withoutIndexes('books'),
            ),
          )
          isWritten.resolve()
          await isReleased.promise
        },
        { isolation: 'read committed' },
      )
      await isWritten.promise
      const starting = startApp(t, engine, {
        databaseUrl,
        config: { store: { indexes: { books: ['year'] } } },
      })
      await until(async () => {
        const rows = await old.app.db.all(sql`
          select pid from pg_locks where relation = 'store_documents'::regclass and mode = 'ShareLock' and not granted`)
        return rows.length > 0
      })
      isReleased.resolve()
      await writing
      const replica = await starting
      await readyIndexes(replica)
      await assertEntries(replica)
    })
})

/** Whole numbers below a limit, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
