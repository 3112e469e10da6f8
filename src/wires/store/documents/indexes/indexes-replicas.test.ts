// Documents are written on several replicas while indexes are added, built, dropped and failed.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { isLongRun } from '../../../../testing/long-run.ts'
import { until } from '../../../../testing/until.ts'
import { assertEntries, indexesOf, readyIndexes } from './indexes.fixture.ts'

const DOCUMENTS = isLongRun ? 5_000 : 150
const WRITES_BETWEEN = isLongRun ? 3_000 : 120
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
