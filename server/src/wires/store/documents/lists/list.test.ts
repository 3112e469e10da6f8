import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import fc from 'fast-check'

import { newId } from '../../../../base/ids.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../testing/engines.ts'

type Query = { [name: string]: string | number | undefined; limit?: number; cursor?: string | undefined }
type Listed = {
  data: { _id: string; createdAt: string; [field: string]: unknown }[]
  total: number
  limit: number
  offset: number
  nextCursor?: string
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const ids = ({ data }: Listed): string[] => data.map(({ _id }) => _id)

eachEngine((engine) => {
  let app: TestApp
  let token: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine)
    token = (await app.register()).token
  })

  let collections = 0
  /** A new collection of these documents, made so many at once; answers its name and their ids. */
  async function collectionOf(
    documents: readonly object[],
    atOnce = 1000,
  ): Promise<{ name: string; made: string[] }> {
    const name = `c${collections++}`
    const made: string[] = []
    for (let first = 0; first < documents.length; first += atOnce) {
      const body = documents.slice(first, first + atOnce)
      const answered = await app.request('POST', `/store/${name}`, { token, body })
      assert.equal(answered.status, 201, answered.text)
      made.push(...answered.body.data.map(({ _id }: { _id: string }) => _id))
    }
    return { name, made }
  }

  function ask(name: string, query: Query = {}) {
    const parameters = new URLSearchParams()
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) parameters.set(key, String(value))
    return app.request('GET', `/store/${name}?${parameters.toString()}`, { token })
  }
  async function list(name: string, query: Query = {}): Promise<Listed> {
    const { status, body, text } = await ask(name, query)
    assert.equal(status, 200, text)
    return body
  }
  /** Follows the cursors to the end; `between` is called after each page. */
  async function walk(
    name: string,
    query: Query,
    between: (seen: string[]) => Promise<void> = async () => {},
  ): Promise<string[]> {
    const seenIds: string[] = []
    let cursor: string | undefined
    do {
      const page = await list(name, { ...query, cursor })
      seenIds.push(...ids(page))
      assert.equal(new Set(seenIds).size, seenIds.length, 'a document came twice')
      cursor = page.nextCursor
      await between(seenIds)
    } while (cursor !== undefined)
    return seenIds
  }

  test('a query in the body answers as the list, of a filter that is too long for an address', async () => {
    const { name, made } = await collectionOf(times(3, (n) => ({ n })))
    const ask = (body: object, who: string | undefined = token) =>
      app.request('POST', `/store/${name}/query`, { token: who, body })
    const filter = { _id: { $in: [...made, ...times(500, () => newId())] } }
    const first = await ask({ filter, sort: '-n', limit: 2, fields: 'n' })
    assert.equal(first.status, 200, first.text)
    const of = (page: Listed) => page.data.map(({ n }) => n)
    assert.deepEqual([of(first.body), first.body.total], [[2, 1], 3])
    const second = await ask({ filter, sort: '-n', limit: 2, fields: 'n', cursor: first.body.nextCursor })
    assert.deepEqual([of(second.body), second.body.nextCursor], [[0], undefined])
    const whole = await app.request('GET', `/store/${name}?filter=${JSON.stringify({ n: 1 })}`, { token })
    assert.deepEqual((await ask({ filter: { n: 1 } })).body, whole.body)
    for (const [body, path] of [
      [{ filter: { n: { $gtt: 1 } } }, '/body/filter/n/$gtt'],
      [{ fields: 'n..' }, '/body/fields'],
      [{ fliter: {} }, '/body/fliter'],
    ] as const)
      assert.equal((await ask(body)).body.error.details.issues[0].path, path)
    assert.equal(
      (await ask({}, '')).status,
      (await app.request('GET', `/store/${name}`, { token: '' })).status,
    )
    const { key } = await app.app.service('auth').keys.create('reader', ['store:read'])
    assert.equal((await ask({ filter }, key)).status, 200)
  })

  test('a parameter that a document does not take is refused', async () => {
    const { name, made } = await collectionOf([{ n: 1 }])
    const answered = await app.request('GET', `/store/${name}/${made[0]}?feilds=n`, { token })
    assert.equal(answered.status, 400)
    assert.equal(answered.body.error.details.issues[0].path, '/query/feilds')
  })

  describe('a list', () => {
    test('of a collection that nothing is in is empty', async () => {
      assert.deepEqual(await list('nothing'), { data: [], total: 0, limit: 20, offset: 0 })
    })

    test('is answered or refused, never broken, however many members a filter has', async () => {
      const { name } = await collectionOf([{ v: 1 }, { v: 2 }])
      for (const [filter, expected] of [
        [{ $and: times(1000, () => ({})) }, 2],
        [{ $or: times(1000, () => ({})) }, 2],
        [{ $nor: times(1000, () => ({})) }, 0],
        [{ $or: times(199, () => ({ v: 1 })) }, 1],
        [{ $and: times(1000, () => ({ v: 1 })) }, 'VALIDATION_ERROR'],
        [{ $or: times(1000, () => ({ v: 1 })) }, 'VALIDATION_ERROR'],
        [{ $or: times(100, () => ({ $and: times(8, () => ({ v: 1 })) })) }, 'VALIDATION_ERROR'],
        [{ v: { $in: times(1000, (n) => n) } }, 2],
        [{ v: { $in: times(1001, (n) => n) } }, 'VALIDATION_ERROR'],
      ] as const) {
        const { body } = await ask(name, { filter: JSON.stringify(filter) })
        assert.equal(body.error?.code ?? body.total, expected, JSON.stringify(filter).slice(0, 40))
      }
    })

    test('holds the newest 20 first, with the number of all', async () => {
      const { name, made } = await collectionOf(times(25, (n) => ({ n })))
      const page = await list(name)
      assert.deepEqual(ids(page), made.toReversed().slice(0, 20))
      const { data, nextCursor, ...figures } = page
      assert.deepEqual(figures, { total: 25, limit: 20, offset: 0 })
      assert.equal(data[0]!['n'], 24)
      assert.equal(typeof nextCursor, 'string')
    })

    test('holds documents as they are read alone', async () => {
      const { name, made } = await collectionOf([{ b: 1, a: { d: [], c: 'é' } }])
      const alone = await app.request('GET', `/store/${name}/${made[0]}`, { token })
      const { text } = await ask(name)
      assert.equal(text, `{"data":[${alone.text}],"total":1,"limit":20,"offset":0}`)
    })

    test('of more than 1000 holds 1000, and says so', async () => {
      const { name, made } = await collectionOf(times(1003, (n) => ({ n })))
      for (const limit of [1000, 1001, 999_999_999_999_999]) {
        const page = await list(name, { limit })
        assert.equal(page.limit, 1000)
        assert.equal(page.total, 1003)
        assert.deepEqual(ids(page), made.toReversed().slice(0, 1000))
      }
      assert.deepEqual(await walk(name, { limit: 5000 }), made.toReversed())
      assert.deepEqual(ids(await list(name, { offset: 1001 })), made.slice(0, 2).toReversed())
    })

    test('in pages by offset repeats and skips nothing', async () => {
      const { name, made } = await collectionOf(times(45, (n) => ({ n })))
      for (const limit of [1, 7, 20, 44, 45, 46]) {
        const pages: Listed[] = []
        for (let offset = 0; offset < 45; offset += limit) pages.push(await list(name, { limit, offset }))
        assert.deepEqual(pages.flatMap(ids), made.toReversed(), `limit ${limit}`)
        for (const [n, page] of pages.entries()) {
          assert.deepEqual([page.total, page.limit, page.offset], [45, limit, n * limit])
          assert.equal(page.nextCursor !== undefined, n < pages.length - 1, `page ${n} of limit ${limit}`)
        }
      }
      const beyond = await list(name, { offset: 45 })
      assert.deepEqual(beyond, { data: [], total: 45, limit: 20, offset: 45 })
      assert.deepEqual((await list(name, { offset: 999_999_999_999_999 })).data, [])
    })

    test('sorts by MongoDB’s form, and goes on by a cursor in either form', async () => {
      const { name } = await collectionOf([{ n: 2 }, { n: 3, a: 1 }, { n: 1 }, { n: 3, a: 0 }])
      const first = await list(name, { sort: '{"n":-1,"a":1}', limit: 2 })
      assert.deepEqual(
        first.data.map(({ n, a }) => [n, a]),
        [
          [3, 0],
          [3, 1],
        ],
      )
      for (const sort of ['{"n":-1,"a":1}', '-n,a']) {
        const next = await list(name, { sort, limit: 2, cursor: first.nextCursor })
        assert.deepEqual(
          next.data.map(({ n }) => n),
          [2, 1],
        )
      }
      assert.equal((await ask(name, { sort: '{"n":1,"a":1}', cursor: first.nextCursor })).status, 400)
    })

    test('sorts fields of different types as MongoDB does', async () => {
      const values = ['b', true, 3, null, [1], { x: 1 }, 'a', false, -1]
      const { name } = await collectionOf([...values.map((v) => ({ v })), {}])
      const sorted = (await list(name, { sort: 'v' })).data.map(({ v }) => v)
      assert.deepEqual(sorted, [null, undefined, -1, [1], 3, 'a', 'b', { x: 1 }, false, true])
      const descending = (await list(name, { sort: '-v' })).data.map(({ v }) => v)
      assert.deepEqual(descending, [true, false, { x: 1 }, 'b', 'a', 3, [1], -1, undefined, null])
    })

    test('of what a filter finds counts what it finds', async () => {
      const { name, made } = await collectionOf(times(30, (n) => ({ n, even: n % 2 === 0 })))
      const filter = '{"even":true,"n":{"$gte":10}}'
      const matchingIds = made.filter((_, n) => n % 2 === 0 && n >= 10).toReversed()
      const page = await list(name, { filter, limit: 4 })
      assert.deepEqual(ids(page), matchingIds.slice(0, 4))
      assert.equal(page.total, matchingIds.length)
      assert.equal(
        (await list(name, { filter, limit: 4, cursor: page.nextCursor })).total,
        matchingIds.length,
      )
      assert.deepEqual(await walk(name, { filter, limit: 3, sort: 'n' }), matchingIds.toReversed())
    })

    test('is found by the typed client', async () => {
      const { name, made } = await collectionOf([{ n: 1 }, { n: 2 }])
      const page = await app.client.call('GET /store/:collection', {
        params: { collection: name },
        query: { limit: 1, sort: 'n' },
        token,
      })
      assert.deepEqual([page.data[0]!._id, page.total, page.limit], [made[0], 2, 1])
    })
  })

  describe('a walk along the cursors', () => {
    for (const sort of [undefined, 'createdAt', 'n', '-group,n'])
      for (const limit of [1, 7, 10])
        test(`in pages of ${limit}, sorted ${sort ?? 'as it is'}, is the list`, async () => {
          const { name } = await collectionOf(times(20, (n) => ({ n: (n * 7) % 20, group: n % 3 })))
          const whole = await list(name, { sort, limit: 100 })
          assert.deepEqual(await walk(name, { sort, limit }), ids(whole))
        })

    for (const sort of ['-createdAt', 'createdAt', 'n', '-n'])
      test(`sorted ${sort} meets everything once while documents come and go`, async () => {
        const { name, made } = await collectionOf(times(60, (n) => ({ n: n % 10 })))
        const gone = new Set<string>()
        const walkedIds = await walk(name, { sort, limit: 7 }, async (before) => {
          const [unseen] = made.filter((id) => !before.includes(id) && !gone.has(id))
          await Promise.all([
            ...times(5, (n) =>
              app.request('POST', `/store/${name}`, { token, body: { n: n * 2, late: true } }),
            ),
            ...[unseen, before[0]!].map(async (id) => {
              if (id === undefined || gone.has(id)) return
              gone.add(id)
              const { status } = await app.request('DELETE', `/store/${name}/${id}`, { token })
              assert.equal(status, 200)
            }),
          ])
          if (before.length > 500) throw new Error('the walk does not end')
        })
        // New documents may be met or not, by where the order puts them; nothing else may be missing.
        const missing = made.filter((id) => !walkedIds.includes(id) && !gone.has(id))
        assert.deepEqual(missing, [])
      })

    test('does not start at an offset as well', async () => {
      const { name } = await collectionOf(times(5, (n) => ({ n })))
      const { nextCursor } = await list(name, { limit: 2 })
      const { status, body } = await ask(name, { limit: 2, offset: 1, cursor: nextCursor })
      assert.equal(status, 400)
      assert.equal(body.error.details.issues[0].path, '/query/cursor')
      assert.equal((await ask(name, { limit: 2, offset: 0, cursor: nextCursor })).status, 200)
    })

    test('stays in its collection, filter and sort', async () => {
      const [one, other] = [await collectionOf([{}, {}]), await collectionOf([{}, {}])]
      const { nextCursor: cursor } = await list(one.name, { limit: 1 })
      for (const [name, query] of [
        [other.name, { cursor }],
        [one.name, { cursor, sort: 'createdAt' }],
        [one.name, { cursor, filter: '{"a":1}' }],
        [one.name, { cursor: `${cursor}x` }],
        [one.name, { cursor: 'nonsense' }],
        [one.name, { cursor: '' }],
      ] as [string, Query][]) {
        const { status, body } = await ask(name, query)
        assert.equal(status, 400, JSON.stringify(query))
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        assert.equal(body.error.details.issues[0].path, '/query/cursor')
      }
    })
  })

  describe('very large documents', () => {
    const COUNT = 7
    let large: { name: string; made: string[] }
    before(async () => {
      const text = 'x'.repeat(1_000_000)
      large = await collectionOf(
        times(COUNT, (n) => ({ n, text })),
        1,
      )
    })

    for (const sort of ['-createdAt', '-n'])
      for (const limit of [6, 1000])
        test(`make a page of ${limit} sorted ${sort} shorter, which says so and is gone on from`, async () => {
          const first = await list(large.name, { sort, limit })
          assert.equal(first.data.length, 4, '4 MiB')
          assert.equal(first.limit, 4)
          assert.equal(first.total, COUNT)
          const second = await list(large.name, { sort, limit, cursor: first.nextCursor })
          assert.deepEqual([...ids(first), ...ids(second)], large.made.toReversed())
          assert.equal(second.limit, limit)
          assert.equal(second.nextCursor, undefined)
          const rest = await list(large.name, { sort, limit, offset: first.limit })
          assert.deepEqual(ids(rest), ids(second))
        })

    test('come in full where few are asked for', async () => {
      const page = await list(large.name, { limit: 4 })
      assert.equal(page.data.length, 4)
      assert.equal(page.limit, 4)
    })
  })

  describe('the total', () => {
    test('is read, not counted', async () => {
      const { name } = await collectionOf([{}, {}, {}])
      await app.app.db.write(
        sql`update store_counts set documents = documents + 40 where collection = ${name}`,
      )
      assert.ok((await list(name)).total >= 43)
      assert.equal((await list(name, { filter: '{"_id":{"$exists":true}}' })).total, 3)
    })

    test('is right for everybody after documents were made and deleted at once', async (t) => {
      const guarded = await startApp(t, engine, { environment: { SIXWIRE_POLICY: 'guarded' } })
      // The first account is an administrator and sees all.
      const everybody = await guarded.register()
      const people = [await guarded.register(), await guarded.register()]
      const names = ['lamps', 'chairs']
      const living: { name: string; id: string; person: number }[] = []
      const action = fc.record({
        kind: fc.constantFrom('create', 'create', 'create', 'update', 'delete', 'delete twice'),
        person: fc.nat(people.length - 1),
        name: fc.constantFrom(...names),
        at: fc.nat(1000),
      })

      async function run({
        kind,
        person,
        name,
        at,
      }: {
        kind: string
        person: number
        name: string
        at: number
      }) {
        const token = people[person]!.token
        if (kind === 'create') {
          const { status, body } = await guarded.request('POST', `/store/${name}`, { token, body: { at } })
          assert.equal(status, 201)
          living.push({ name, id: body._id, person })
          return
        }
        const target = living[at % Math.max(1, living.length)]
        if (!target) return
        const path = `/store/${target.name}/${target.id}`
        const own = people[target.person]!.token
        if (kind === 'update') await guarded.request('PUT', path, { token: own, body: { at } })
        else {
          living.splice(living.indexOf(target), 1)
          const tries = times(kind === 'delete' ? 1 : 2, () =>
            guarded.request('DELETE', path, { token: own }),
          )
          assert.equal((await Promise.all(tries)).filter(({ status }) => status === 200).length, 1)
        }
      }
      async function check(): Promise<void> {
        for (const name of names) {
          const here = living.filter((one) => one.name === name)
          const totalOf = async (token: string): Promise<number> =>
            (await guarded.request('GET', `/store/${name}?limit=1`, { token })).body.total
          assert.equal(await totalOf(everybody.token), here.length)
          for (const [person, { token }] of people.entries())
            assert.equal(await totalOf(token), here.filter((one) => one.person === person).length)
        }
        const counted = await guarded.app.db.scan(sql`
          select collection, owner, count(*) as documents from store_documents group by collection, owner
          union all select collection, '', count(*) from store_documents group by collection
          order by collection, owner`)
        const counters = await guarded.app.db.scan(sql`
          select collection, owner, cast(sum(documents) as bigint) as documents from store_counts
          group by collection, owner having sum(documents) <> 0 order by collection, owner`)
        assert.deepEqual(counters, counted)
      }

      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
          await Promise.all(actions.map(run))
          await check()
        }),
        { numRuns: 12 },
      )
    })
  })
})
