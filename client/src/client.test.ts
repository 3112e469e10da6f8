import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, test } from 'node:test'

import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { someEngine, endOfSuite } from '../../server/src/testing/engines.ts'
import { CallError, createClient, isError, type Client } from './index.ts'
import { shop, type Known } from './shop.fixture.ts'

someEngine((engine) => {
  describe('the typed client', () => {
    let app: TestApp
    let api: Client<Known>
    const ending = endOfSuite()
    before(async () => {
      const store = {
        collections: {
          'typed-books': { search: ['title'] },
          'batch-books': { unique: ['isbn'] },
          products: { files: { photo: {}, 'box.labels': { max: 2 } } },
        },
      }
      app = await startApp(ending, engine, { config: { wires: [shop()], store } })
      api = createClient(app.url)
    })

    test('sends each kind of body as it is declared', async () => {
      const code = await api.call('POST /shop/form', { body: new URLSearchParams({ code: 'a b' }) })
      assert.deepEqual(code, { code: 'a b' })
      const typed = new Blob(['{"a":1}'], { type: 'application/json' })
      assert.deepEqual(await api.call('POST /shop/bytes', { body: typed }), {
        text: '{"a":1}',
        type: 'application/json',
      })
      const plain = { body: new Uint8Array([97]), headers: { 'content-type': 'a/b' } }
      assert.deepEqual(await api.call('POST /shop/bytes', plain), { text: 'a', type: 'a/b' })
      const picture = new FormData()
      picture.set('file', new File(['x'], 'cat.png'))
      picture.set('alt', 'A cat')
      assert.deepEqual(await api.call('POST /shop/pictures', { body: picture }), {
        name: 'cat.png',
        alt: 'A cat',
      })
    })

    test('calls routes by their names, with the token that it was given', async () => {
      const { email, password } = await app.register()
      const { token, user } = await api.call('POST /auth/login', { body: { email, password } })
      assert.equal(user.email, email)
      const own = createClient<Known>(app.url, { token })
      assert.equal((await own.call('GET /auth/me')).user.email, email)
      await assert.rejects(own.call('GET /auth/me', { token: null }), { code: 'UNAUTHORIZED' })
      assert.equal((await api.call('GET /auth/me', { token })).user.email, email)
      const made = await own.call('POST /store/:collection', {
        token,
        params: { collection: 'books' },
        body: { title: 'Momo' },
        headers: { 'idempotency-key': 'k' },
      })
      const { data, total } = await own.call('GET /store/:collection', {
        token,
        params: { collection: 'books' },
        query: { filter: JSON.stringify({ title: 'Momo' }), limit: 5 },
      })
      assert.deepEqual(data, [made])
      assert.equal(total, 1)
    })

    test('creates, changes and deletes documents of collections together', async () => {
      type Book = { isbn: string; left?: number }
      const { token } = await app.register()
      const own = createClient<Known>(app.url, { token })
      const books = own.collection<Book>('batch-books')
      const old = await books.create({ isbn: '1', left: 1 })
      const known = await books.create({ isbn: '2' })
      const [made, changed, same, gone] = await own.batch((b) => [
        b.collection<{ book: string }>('loans').create({ book: old._id }),
        b.collection<Book>('batch-books').update(old._id, { left: 2 }, { ifMatch: structuredClone(old) }),
        b.collection<Book>('batch-books').upsert({ by: 'isbn' }, { isbn: '1', left: 3 }),
        b.collection('batch-books').remove(known._id, { ifMatch: known }),
      ])
      const book: string = made.book
      assert.deepEqual([book, changed.left, same.left, gone], [old._id, 2, 3, undefined])
      assert.deepEqual(await own.collection('loans').get(made._id), made)
      // @ts-expect-error: it was deleted
      assert.throws(() => gone.isbn)
      assert.equal((await books.update(old._id, { left: 4 }, { ifMatch: same })).left, 4)
      const refused = own.batch((b) => [
        b.collection<Book>('batch-books').create({ isbn: '3' }),
        b.collection<Book>('batch-books').patch(old._id, { left: null }, { ifMatch: same }),
      ])
      await assert.rejects(refused, { code: 'PRECONDITION_FAILED', details: { operation: 1 } })
      // @ts-expect-error: a number is no isbn
      const wrong = () => own.batch((b) => [b.collection<Book>('batch-books').create({ isbn: 1 })])
      assert.ok(wrong)
      const ann = await books.upsert({ by: ['isbn'] }, { isbn: '4', left: 1 })
      assert.equal((await books.upsert({ by: 'isbn' }, { isbn: '4', left: 2 }))._id, ann._id)
      const counted = { $setOnInsert: { isbn: '4' }, $inc: { left: 1 } }
      assert.equal((await books.upsert({ by: 'isbn' }, counted)).left, 3)
      assert.equal((await books.list()).total, 2)
      let attempts = 0
      const cut: typeof fetch = async (...input) => {
        const answer = await fetch(...input)
        if (attempts++ === 0) throw new TypeError('the connection was lost')
        return answer
      }
      const [once] = await createClient(app.url, { token, fetch: cut }).batch((b) => [
        b.collection<Book>('batch-books').create({ isbn: '5' }),
      ])
      assert.deepEqual([attempts, once.isbn, (await books.list()).total], [2, '5', 3])
    })

    test('reads and writes the documents of a collection', async () => {
      type Book = {
        title: string
        year: number
        tags?: string[]
        author?: { name: string; born?: number }
        isOut?: boolean
      }
      const { token } = await app.register()
      const own = createClient<Known>(app.url, { token })
      const books = own.collection<Book>('typed-books')
      const momo = await books.create({ title: 'Momo', year: 1973, author: { name: 'Ende', born: 1929 } })
      const others = await books.create(
        [1, 2, 3, 4].map((n) => ({ title: `${n}`, year: 1980 + n, tags: ['new'] })),
      )
      assert.deepEqual(await books.get(momo._id), momo)
      const { data, total } = await books.list({
        filter: {
          year: { $gte: 1982 },
          'author.name': null,
          $or: [{ title: '2' }, { title: { $in: ['3'] } }],
        },
        sort: ['-year', 'author.name'],
        fields: ['title'],
        limit: 1,
      })
      assert.deepEqual([data, total], [[{ _id: others[2]!._id, title: '3' }], 2])
      // Only _id is certain to the types as well.
      const [chosen] = data
      const id: string = chosen!._id
      // @ts-expect-error: it may be absent
      const created: string = chosen!.createdAt
      assert.deepEqual([id, created], [others[2]!._id, undefined])
      const newest = await books.list({ sort: { year: -1, 'author.name': 1 }, limit: 1 })
      const { year, createdAt }: { year: number; createdAt: string } = newest.data[0]!
      assert.deepEqual([year, createdAt], [1984, others[3]!.createdAt])

      assert.equal((await books.list({ sort: [], fields: [], limit: 1 })).total, 5)
      assert.equal((await books.list({ search: 'mo*', filter: { year: 1973 } })).data[0]!._id, momo._id)

      const groups = await books.aggregate({
        by: ['author.name', 'createdAt:month'],
        sum: ['year'],
        average: ['year'],
        max: ['title'],
        filter: { year: { $lt: 1983 } },
        sort: '-by',
        limit: 1,
      })
      const [group] = groups.data
      // Their types are those of the fields; a dotted path may have any.
      const { createdAt: month }: { createdAt: string | null; 'author.name': unknown } = group!.by
      const { title: lastTitle }: { title: string | null } = group!.max
      const found = [
        group!.by['author.name'],
        month?.slice(-12),
        group!.count,
        group!.sum.year,
        group!.average.year,
      ]
      assert.deepEqual(
        [...found, lastTitle, groups.more],
        ['Ende', '01T00:00:00Z', 1, 1973, 1973, 'Momo', true],
      )
      // @ts-expect-error: nothing else was asked
      assert.equal(group!.min, undefined)
      // @ts-expect-error: no such field
      await assert.rejects(books.aggregate({ sum: ['yaer:day'] }), { code: 'VALIDATION_ERROR' })
      const all = await books.aggregate({ by: [], distinct: ['year'] })
      assert.deepEqual(all, { data: [{ by: {}, count: 5, distinct: { year: 5 } }], more: false })

      const newestFirst: number[] = []
      for await (const { year } of books.all({ sort: '-year', limit: 2 })) newestFirst.push(year)
      assert.deepEqual(newestFirst, [1984, 1983, 1982, 1981, 1973])
      for await (const book of books.all({ fields: ['title'], limit: 1 })) {
        // @ts-expect-error: it may be absent
        const year: number = book.year
        assert.equal(year, undefined)
        break
      }

      const titles: string[][] = []
      for await (const page of books.pages({ sort: ['year'], limit: 2, offset: 1 }))
        titles.push(page.data.map(({ title }) => title))
      assert.deepEqual(titles, [
        ['1', '2'],
        ['3', '4'],
      ])

      assert.equal((await books.update(momo._id, { year: 1974 })).title, 'Momo')
      const patched = await books.patch(momo._id, { author: { born: null }, year: null })
      assert.deepEqual(patched.author, { name: 'Ende' })
      assert.equal('year' in patched, false)
      const operated = await books.patch(momo._id, { $max: { year: 1973 }, $set: { 'author.born': 1929 } })
      assert.deepEqual([operated.year, operated.author], [1973, { name: 'Ende', born: 1929 }])
      const filter = { $expr: { $gt: ['$author.born', 1900] }, year: { $bitsAllSet: [0] } } as const
      assert.deepEqual((await books.list({ filter })).data, [operated])
      const headers = { 'if-match': '"1"' }
      await assert.rejects(books.remove(momo._id, { headers }), { code: 'PRECONDITION_FAILED' })
      let removed: Response | undefined
      const fetching: typeof fetch = async (...input) => (removed = await fetch(...input))
      const watched = createClient(app.url, { token, fetch: fetching })
      await watched.collection('typed-books').remove(momo._id)
      assert.ok(removed?.bodyUsed, 'the answer is read, so that browsers do not show it as cut off')
      await assert.rejects(books.get(momo._id), { code: 'NOT_FOUND' })
      // @ts-expect-error a number is not compared with text
      await books.list({ filter: { year: { $gt: 'a' } } })
      // @ts-expect-error no book has such a field
      await books.list({ filter: { pages: 7 } })
      // @ts-expect-error a title is text
      await books.update(others[0]!._id, { title: 7 })
      // @ts-expect-error a title is no number
      await assert.rejects(books.patch(others[1]!._id, { $inc: { title: 7 } }))
      // @ts-expect-error no such operator
      await assert.rejects(books.patch(others[1]!._id, { $bit: { year: 7 } }))
    })

    test('changes a document only if it is as it was read', async () => {
      const six = createClient<Known>(app.url, { token: (await app.register()).token })
      type Stock = { title: string; left: number }
      const books = six.collection<Stock>('stock')
      const gone = (error: unknown) => six.isError(error, 'PRECONDITION_FAILED') && error.status === 412
      const created = await books.create({ title: 'Momo', left: 3 })
      const updated = await books.update(created._id, { left: 2 }, { ifMatch: created })
      await assert.rejects(books.update(created._id, { left: 1 }, { ifMatch: created }), gone)
      const patched = await books.patch(created._id, { left: 1 }, { ifMatch: updated })
      await assert.rejects(books.patch(created._id, { left: 0 }, { ifMatch: updated }), gone)
      assert.deepEqual(await books.get(created._id), patched)

      // One of a list has no ETag, and a copy is another object: what they say is compared.
      const { data } = await books.list()
      const listed = await books.update(created._id, { left: 5 }, { ifMatch: data[0]! })
      await assert.rejects(books.update(created._id, { left: 6 }, { ifMatch: data[0]! }), gone)
      const copied = await books.update(created._id, { left: 7 }, { ifMatch: { ...listed } })
      await assert.rejects(books.remove(created._id, { ifMatch: { ...listed } }), gone)
      // @ts-expect-error: a part of a document does not tell whether the rest has changed
      await assert.rejects(books.remove(created._id, { ifMatch: { _id: created._id } }), gone)

      const [one, two] = await books.create([
        { title: 'a', left: 1 },
        { title: 'b', left: 1 },
      ])
      await books.remove(one!._id, { ifMatch: one! })
      await assert.rejects(books.remove(two!._id, { ifMatch: '"2"' }), gone)
      await books.remove(two!._id, { ifMatch: '"1"' })
      await books.remove(created._id, { ifMatch: copied })
      await assert.rejects(books.remove(created._id, { ifMatch: { ...copied } }), { code: 'NOT_FOUND' })
    })

    test('returns the error of a call that is tried, and throws what is none of the server', async () => {
      const six = createClient<Known>(app.url)
      const { email, password } = await app.register()
      const taken = await six.try('POST /auth/register', { body: { email, password } })
      assert.deepEqual([taken.data, taken.error?.code], [undefined, 'EMAIL_TAKEN'])
      assert.ok(six.isError(taken.error, 'EMAIL_TAKEN'))
      assert.ok(six.isError(taken.error, 'POST /auth/register', 'EMAIL_TAKEN'))
      assert.ok(!six.isError(taken.error, 'POST /auth/login', 'UNAUTHORIZED'))
      assert.ok(!six.isError(taken.error, 'SOLD_OUT'))
      assert.ok(!isError(new Error('EMAIL_TAKEN'), 'EMAIL_TAKEN'))
      assert.ok(isError(taken.error))
      const { data, error } = await six.try('POST /auth/login', { body: { email, password } })
      assert.deepEqual([data?.user.email, error], [email, undefined])
      await assert.rejects(six.try('GET /health', { signal: AbortSignal.abort() }), { name: 'AbortError' })
    })

    test('returns the response as it is, and throws only errors', async () => {
      const six = createClient<Known>(app.url, { token: (await app.register()).token })
      const params = { collection: 'raw', id: (await six.collection('raw').create({ n: 1 }))._id }
      const response = await six.raw('GET /store/:collection/:id', { params })
      assert.equal(response.headers.get('etag'), '"1"')
      assert.equal(((await response.json()) as { n: number }).n, 1)
      const same = await six.raw('GET /store/:collection/:id', {
        params,
        headers: { 'if-none-match': '"1"' },
      })
      assert.equal(same.status, 304)
      const missing = six.raw('GET /store/:collection/:id', { params: { ...params, id: 'none' } })
      await assert.rejects(missing, (error) => isError(error, 'NOT_FOUND'))
    })

    test('stores a file, and reads its bytes', async () => {
      const six = createClient<Known>(app.url, { token: (await app.register()).token })
      const file = await six.upload(new File(['hello'], 'a.txt', { type: 'text/plain' }), {
        metadata: { album: 'summer' },
        // Node has no XMLHttpRequest, so nothing is told.
        onProgress: () => assert.fail(),
      })
      assert.deepEqual([file.originalName, file.metadata], ['a.txt', { album: 'summer' }])
      const bytes = await six.call('GET /store/files/:id/content', { params: { id: file._id } })
      assert.equal(await bytes.text(), 'hello')
      const named = await six.upload(new Blob(['hello']), { name: 'b.txt' })
      assert.equal(named.originalName, 'b.txt')
      // One of several requests, and of one: the same options make the same file.
      const large = new Blob([new Uint8Array(8_388_609)], { type: 'text/plain' })
      const options = { metadata: { name: 'ö' }, access: 'public' } as const
      const records = [
        await six.upload(large, options),
        await six.upload(large, { ...options, idempotencyKey: 'b' }),
      ]
      const [inPieces, whole] = records.map(
        ({ originalName, contentType, size, metadata, access, sha256 }) => ({
          originalName,
          contentType,
          size,
          metadata,
          access,
          sha256,
        }),
      )
      assert.deepEqual(inPieces, whole)
      assert.equal(inPieces!.access, 'public')
    })

    test('stores several files by one call, and answers a list of their records', async () => {
      const six = createClient<Known>(app.url, { token: (await app.register()).token })
      const files = ['a.txt', 'b.txt'].map((name) => new File([name], name))
      const metadata = { album: 'summer' }
      const stored = await six.upload(files, { metadata })
      assert.deepEqual(
        stored.map((file) => [file.originalName, file.metadata]),
        [
          ['a.txt', metadata],
          ['b.txt', metadata],
        ],
      )
      const one = await six.upload(files.slice(1))
      assert.deepEqual([one.length, one[0]!.originalName], [1, 'b.txt'])
      await assert.rejects(six.upload([]), { code: 'VALIDATION_ERROR' })
    })

    test('creates a document with its files, once if the answer is lost', async () => {
      const { token } = await app.register()
      let lost = 0
      const six = createClient<Known>(app.url, {
        token,
        fetch: async (...input) => {
          const response = await fetch(...input)
          if (lost++ === 0) throw new TypeError('reset')
          return response
        },
      })
      type Product = { name: string; photo: string; box: { size: number; labels?: string[] } }
      const products = six.collection<Product>('products')
      const [front, left, right] = ['front', 'left', 'right'].map((name) => new File([name], `${name}.txt`))
      const lamp = await products.create(
        { name: 'lamp', box: { size: 1 } },
        { files: { photo: front, 'box.labels': new Set([left!, right!]) } },
      )
      assert.equal(lost, 2)
      assert.deepEqual([lamp.name, lamp.box.size], ['lamp', 1])
      const texts = [lamp.photo, ...lamp.box.labels!].map(async (id) =>
        (await six.call('GET /store/files/:id/content', { params: { id } })).text(),
      )
      assert.deepEqual(await Promise.all(texts), ['front', 'left', 'right'])
      const { total } = await six.call('GET /store/files', { query: { name: 'front.txt' } })
      assert.deepEqual([total, (await products.list()).total], [1, 1])
      assert.equal((await products.update(lamp._id, { name: 'light' }, { ifMatch: lamp })).name, 'light')
      // An input of a form in which nothing was chosen.
      const bare = await products.create({ name: 'bare', box: { size: 2 } }, { files: { photo: undefined } })
      assert.deepEqual([bare.name, bare.photo], ['bare', undefined])
      const wrong = products.create({ name: 'lamp', photo: '', box: { size: 1 } }, { files: { foto: front } })
      await assert.rejects(wrong, { code: 'VALIDATION_ERROR' })
    })

    test('pays and refunds at the routes of payments', async (t) => {
      const shopped = await startApp(t, engine, { sandbox: true })
      const { token } = await shopped.register()
      const own = createClient(shopped.url, { token })
      const { sessionId, transactionId } = await own.call('POST /pay/cardpay/checkout', {
        body: {
          items: [{ name: 'Momo', amount: 1250, currency: 'eur' }],
          successUrl: 'https://shop.example/paid',
          cancelUrl: 'https://shop.example/cart',
        },
      })
      await shopped.request('POST', `/sandbox/api/cardpay/sessions/${sessionId}/pay`)
      assert.equal(await shopped.app.service('pay').retrieve(transactionId), true)
      const { transactions, total } = await own.call('GET /pay/transactions', {
        query: { status: 'completed', provider: 'cardpay' },
      })
      assert.deepEqual([total, transactions[0]!._id, transactions[0]!.amount], [1, transactionId, 1250])
      const refund = await own.call('POST /pay/cardpay/refund', { body: { transactionId, amount: 250 } })
      assert.deepEqual([refund.status, refund.amount], ['completed', 250])
      const { status, refunds } = await own.call('GET /pay/transactions/:id', {
        params: { id: transactionId },
      })
      assert.deepEqual([status, refunds[0]!.refundId], ['partially_refunded', refund.refundId])
      const over = own.call('POST /pay/cardpay/refund', { body: { transactionId, amount: 1001 } })
      await assert.rejects(over, { status: 422, code: 'AMOUNT_EXCEEDED' })
    })

    test('throws what the server refuses, with all that it says', async () => {
      const { token } = await app.register()
      await assert.rejects(api.call('POST /shop/orders', { token, body: { count: 6 } }), (error) => {
        assert.ok(error instanceof CallError && error instanceof Error)
        assert.equal(error.name, 'CallError')
        assert.equal(error.status, 409)
        assert.equal(error.code, 'SOLD_OUT')
        assert.equal(error.message, 'There is none left.')
        assert.deepEqual(error.details, { left: 5 })
        assert.match(error.headers.get('x-request-id')!, /./)
        return true
      })
      assert.deepEqual(await api.call('POST /shop/orders', { token, body: { count: 1 } }), { later: true })
    })

    for (const item of ['a b', 'a/b', '../x', 'ä☃𝄞', '%2e%2e', '?a=1#b', '...', ':id', '%', '\\', "'"])
      test(`sends the parameter ${item} as it is`, async () => {
        const { item: seen, shelf } = await api.call('GET /shop/:shelf/items/:item', {
          params: { shelf: ':item', item },
        })
        assert.deepEqual([shelf, seen], [':item', item])
      })

    for (const item of ['', '.', '..'])
      test(`does not send "${item}" for a parameter: the address would be another one`, async () => {
        const call = api.call('GET /shop/:shelf/items/:item', { params: { shelf: 's', item } })
        await assert.rejects(call, { name: 'TypeError', message: /^item: / })
      })

    test('does not send a call whose parameter is missing', async () => {
      const params = { shelf: 's' } as { shelf: string; item: string }
      await assert.rejects(api.call('GET /shop/:shelf/items/:item', { params }), {
        name: 'TypeError',
        message: /^item: /,
      })
    })

    test('writes a query as the server reads it, and leaves out what is undefined', async () => {
      const ask = async (query: { soon?: boolean; size?: number; text?: string | undefined }) =>
        (
          await api.call('GET /shop/:shelf/items/:item', {
            params: { shelf: 's', item: 'i' },
            query,
          })
        ).query
      assert.deepEqual(await ask({}), { size: 1 })
      assert.deepEqual(await ask({ soon: false, size: -1.5, text: 'a&b=c + ü' }), {
        soon: false,
        size: -1.5,
        text: 'a&b=c + ü',
      })
      assert.deepEqual(await ask({ text: 'true' }), { text: 'true', size: 1 })
      assert.deepEqual(await ask({ text: undefined }), { size: 1 })
    })

    test('answers text where the route does', async () => {
      assert.equal(await api.call('GET /shop/label'), '<label>')
    })

    test('gives up a call when it is told to', async () => {
      await assert.rejects(api.call('GET /health', { signal: AbortSignal.abort() }), { name: 'AbortError' })
    })
  })
})

describe('behind something that is not the server', () => {
  const ending = endOfSuite()
  let url = ''
  let answered: { status: number; type: string; body: string } = { status: 200, type: '', body: '' }
  let asked = ''
  before(async () => {
    const server = createServer((request, response) => {
      asked = `${request.method} ${request.url}`
      response.writeHead(answered.status, { 'content-type': answered.type }).end(answered.body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ending.after(async () => void server.close())
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  for (const base of ['', '/', '/api', '/api/'])
    test(`keeps the prefix of ${base || 'no prefix'}`, async () => {
      answered = { status: 200, type: 'application/json', body: '{"ready":true}' }
      await createClient(url + base).call('GET /ready')
      assert.equal(asked, `GET ${base.replace(/\/$/, '')}/ready`)
    })

  for (const [what, status, type, body] of [
    ['a page', 502, 'text/html', '<h1>Bad gateway</h1>'],
    ['nothing', 503, 'application/json', ''],
    ['JSON that is none', 500, 'application/json', '<h1>'],
    ['JSON of another kind', 504, 'application/json', '"late"'],
    ['null', 504, 'application/json', 'null'],
    ['an error of another kind', 500, 'application/json', '{"error":"no"}'],
  ] as const)
    test(`a failure that is ${what} is a CallError too`, async () => {
      answered = { status, type, body }
      await assert.rejects(createClient(url, { retries: 0 }).call('GET /ready'), {
        name: 'CallError',
        status,
        code: 'UNKNOWN',
        message: `The server answered ${status}.`,
      })
    })
})
