import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'

type Case = { id: string; docs: object[]; filter?: object; note?: string }
type Cases = {
  match: (Case & { expect: number[] })[]
  sort: (Case & { sort: [field: string, direction: 1 | -1][]; expect_order: number[] })[]
  must_refuse: { name: string; filter: object }[]
}

// MongoDB's own answers, outside of the project.
const file =
  process.env['SIXWIRE_FILTER_CASES'] ??
  fileURLToPath(new URL('../../../../../../../../shared/spec/filter-cases.json', import.meta.url))
const skip = existsSync(file) ? false : `there is no ${file}: SIXWIRE_FILTER_CASES names it`

describe('a list over HTTP answers as MongoDB does', { skip }, () => {
  const cases = skip ? undefined : (JSON.parse(readFileSync(file, 'utf8')) as Cases)

  eachEngine((engine) => {
    let app: TestApp
    let token: string
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine)
      ;({ token } = await app.register())
    })

    const collections = new Map<string, Promise<string>>()
    /** The collection of these documents, which many cases share. */
    function collectionOf(documents: readonly object[]): Promise<string> {
      const key = JSON.stringify(documents)
      const collection = collections.get(key) ?? create(`cases${collections.size}`, documents)
      collections.set(key, collection)
      return collection
    }
    async function create(collection: string, documents: readonly object[]): Promise<string> {
      for (const body of documents) {
        const { status, text } = await app.request('POST', `/store/${collection}`, { token, body })
        assert.equal(status, 201, text)
      }
      return collection
    }

    async function numbers({ docs, filter }: Case, sort?: string): Promise<number[]> {
      const parameters = new URLSearchParams({ limit: '1000', ...(sort && { sort }) })
      if (filter) parameters.set('filter', JSON.stringify(filter))
      const url = `/store/${await collectionOf(docs)}?${parameters.toString()}`
      const { status, body, text } = await app.request('GET', url, { token })
      assert.equal(status, 200, text)
      assert.equal(body.total, body.data.length)
      return (body.data as { i: number }[]).map(({ i }) => i)
    }
    const ascending = (a: number, b: number): number => a - b

    for (const one of cases?.match ?? [])
      test(`${one.id} ${JSON.stringify(one.filter)}`, async () => {
        assert.deepEqual((await numbers(one)).toSorted(ascending), one.expect.toSorted(ascending))
      })

    for (const one of cases?.sort ?? [])
      test(`${one.id} sorted by ${JSON.stringify(one.sort)}`, async () => {
        const sort = one.sort.map(([field, direction]) => (direction === -1 ? `-${field}` : field)).join(',')
        assert.deepEqual(await numbers(one, sort), one.expect_order)
      })

    for (const { name, filter } of cases?.must_refuse ?? [])
      test(`refuses ${name}`, async () => {
        const { status, body } = await app.request(
          'GET',
          `/store/refused?filter=${encodeURIComponent(JSON.stringify(filter))}`,
          { token },
        )
        assert.equal(status, 400)
        assert.equal(body.error.code, 'VALIDATION_ERROR')
        assert.match(body.error.details.issues[0].path, /^\/query\/filter\//)
      })
  })
})
