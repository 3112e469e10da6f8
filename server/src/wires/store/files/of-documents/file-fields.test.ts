// Fields of files in documents: what they take, who reads the files by them, and what becomes of those that leave them.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { newId } from '../../../../base/ids.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql } from '../../../../db/sql.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../testing/app.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { hoursLater, upload, type TestFile } from '../files.fixture.ts'

/** How many calls a race has. */
const AT_ONCE = 20

const products = {
  read: [{ open: true }, 'owner'],
  update: ['owner', { open: true }],
  hidden: ['invoice'],
  files: {
    photo: { types: ['text/*'], maxBytes: 10 },
    photos: { max: 2 },
    'lines.scan': {},
    invoice: {},
    banner: { access: 'public' },
  },
} as const
const config = {
  store: {
    collections: {
      products,
      letters: { read: 'owner', files: { attachment: {} } },
      orders: { read: 'owner', relations: { product: { to: 'products' } } },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>
type Who = { readonly token: string } | undefined

eachEngine((engine) => {
  describe('fields of files', () => {
    let app: TestApp
    let replica: TestApp
    let databaseUrl: string
    let environment: Record<string, string>
    let [admin, ann, bob]: Person[] = []
    let key: { readonly token: string }
    const ending = endOfSuite()
    before(async () => {
      databaseUrl = await engine.migratedUrl()
      environment = { DATA_DIR: await temporaryFolder(ending) }
      app = await startApp(ending, engine, { config, databaseUrl, environment })
      replica = await startApp(ending, engine, { config, databaseUrl, environment, clock: app.clock })
      ;[admin, ann, bob] = [await app.register(), await app.register(), await app.register()]
      key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
    })

    const askAt = (
      of: TestApp,
      who: Who,
      method: string,
      path: string,
      body?: unknown,
    ): Promise<TestAnswer> => of.request(method, `/store/${path}`, { token: who?.token, body })
    const ask = (who: Who, method: string, path: string, body?: unknown) =>
      askAt(app, who, method, path, body)
    async function fileOf(who: Who, file: TestFile = {}): Promise<string> {
      const { status, text, body } = await upload(app, who!.token, file)
      assert.equal(status, 201, text)
      return body._id
    }
    async function made(collection: string, fields: object, who: Who = ann): Promise<string> {
      const { status, text, body } = await ask(who, 'POST', collection, fields)
      assert.equal(status, 201, text)
      return body._id
    }
    const statusesOf = (id: string, readers: readonly Who[]) =>
      Promise.all(readers.map(async (who) => (await ask(who, 'GET', `files/${id}/content`)).status))
    const isThere = async (id: string) => (await ask(key, 'GET', `files/${id}`)).status === 200
    function issueOf({ status, body, text }: TestAnswer): { path: string; message: string } {
      assert.equal(status, 400, text)
      return body.error.details.issues[0]
    }

    test('take files that are there, in the number, of the type and size that they declare', async () => {
      const [file, other, third] = [await fileOf(ann), await fileOf(ann), await fileOf(ann)]
      const json = await fileOf(ann, { name: 'a.json', type: 'application/json', bytes: '{}' })
      const large = await fileOf(ann, { bytes: 'x'.repeat(11) })
      const product = await made('products', {
        photo: file,
        photos: [file, other],
        lines: [{ scan: file }, {}],
      })
      for (const [fields, at, message] of [
        [{ photo: newId(Date.now()) }, '/photo', /there is no file with this _id/],
        [{ photo: [file] }, '/photo', /must be the _id of a file, or null/],
        [{ photo: { _id: file } }, '/photo', /must be the _id of a file/],
        [{ photo: json }, '/photo', /this file is application\/json, and the field takes text\/\*/],
        [{ photo: large }, '/photo', /has 11 bytes, and the field takes at most 10/],
        [{ photos: file }, '/photos', /must be an array of _ids/],
        [{ photos: [file, 5] }, '/photos', /must be an array of _ids/],
        [{ photos: [file, other, third] }, '/photos', /must not have more than 2 files/],
        [{ photos: [file, 'x'] }, '/photos/1', /no file/],
        [{ lines: [{}, { scan: 'x' }] }, '/lines/1/scan', /no file/],
        [{ lines: [[{ scan: file }]] }, '/lines/0/0/scan', /array in an array/],
      ] as const) {
        const answers = [
          await ask(ann, 'POST', 'products', fields),
          await ask(ann, 'PUT', `products/${product}`, fields),
          await ask(ann, 'PATCH', `products/${product}`, { $set: fields }),
        ]
        for (const answered of answers) {
          const issue = issueOf(answered)
          assert.equal(issue.path, `/body${at}`)
          assert.match(issue.message, message)
        }
        assert.equal(issueOf(await ask(ann, 'POST', 'products', [{}, fields])).path, `/body/1${at}`)
      }
      const cleared = await ask(ann, 'PATCH', `products/${product}`, { photo: null, photos: null, lines: [] })
      assert.equal(cleared.status, 200, cleared.text)
    })

    test('take only files that their writer may read without a document, and keep those that are there', async () => {
      const letter = await fileOf(ann)
      await made('letters', { attachment: letter })
      assert.equal(
        issueOf(await ask(bob, 'POST', 'letters', { attachment: letter })).path,
        '/body/attachment',
      )
      const shown = await fileOf(ann)
      const product = await made('products', { open: true, photo: shown })
      assert.equal((await ask(bob, 'GET', `files/${shown}`)).status, 200)
      assert.equal(issueOf(await ask(bob, 'POST', 'letters', { attachment: shown })).path, '/body/attachment')
      assert.equal((await ask(bob, 'PUT', `products/${product}`, { photo: shown, n: 1 })).status, 200)
    })

    test('take only files that their writer may change, so that no reader publishes, keeps or loses those of others', async () => {
      const library = await startApp(ending, engine, {
        config: { store: { ...config.store, fileAccess: 'public-read' } },
        environment: { DATA_DIR: await temporaryFolder(ending) },
      })
      const [owner, reader] = [await library.register(), await library.register()]
      const { _id } = (await upload(library, owner.token, {})).body
      assert.equal((await askAt(library, reader, 'GET', `files/${_id}`)).status, 200)
      for (const fields of [{ banner: _id }, { photos: [_id] }])
        assert.match(
          issueOf(await askAt(library, reader, 'POST', 'products', fields)).message,
          /no file with this _id that you may give/,
        )
      assert.equal((await askAt(library, owner, 'POST', 'products', { banner: _id })).status, 201)
    })

    test('show their files to those who may read the document and see the field, and to nobody else', async () => {
      const everybody = [admin, ann, bob, undefined]
      const [photo, invoice, letter] = [await fileOf(ann), await fileOf(admin), await fileOf(ann)]
      // A file of no document is everybody's who is signed in, as the policy is open.
      assert.deepEqual(await statusesOf(photo, everybody), [200, 200, 200, 401])
      const product = await made('products', { open: true, photo })
      await made('letters', { attachment: letter })
      assert.equal((await ask(admin, 'PUT', `products/${product}`, { invoice })).status, 200)
      assert.deepEqual(await statusesOf(photo, everybody), [200, 200, 200, 200])
      assert.equal((await ask(undefined, 'GET', `files/${photo}`)).body._id, photo)
      assert.deepEqual(await statusesOf(invoice, everybody), [200, 404, 404, 401])
      assert.deepEqual(await statusesOf(letter, everybody), [200, 200, 404, 401])
      assert.equal((await ask(bob, 'POST', `files/${letter}/link`, {})).status, 404)
      assert.equal((await ask(bob, 'DELETE', `files/${letter}`)).status, 404)

      const seen = (await ask(bob, 'GET', 'files?limit=1000')).body
      const ids = seen.files.map(({ _id }: { _id: string }) => _id)
      assert.deepEqual([ids.includes(letter), ids.includes(photo)], [false, false])
      assert.equal(seen.total, ids.length)
      assert.ok((await ask(ann, 'GET', 'files?limit=1000')).text.includes(letter))

      // At once, as the document changes, or the field is another one.
      assert.equal((await ask(ann, 'PUT', `products/${product}`, { open: false })).status, 200)
      assert.deepEqual(await statusesOf(photo, everybody), [200, 200, 404, 401])
      assert.equal((await ask(ann, 'PUT', `products/${product}`, { open: true, photo: null })).status, 200)
      assert.deepEqual(await statusesOf(photo, everybody), [200, 200, 404, 401])
    })

    test('are expanded to records with addresses that a page can show', async () => {
      const [photo, other] = [await fileOf(ann, { name: 'a.txt', bytes: 'photo' }), await fileOf(ann)]
      const product = await made('products', { open: true, photo, photos: [other, photo], lines: [{}] })
      const order = await made('orders', { product }, bob)
      const { body } = await ask(undefined, 'GET', `products/${product}?expand=photo,photos,lines.scan`)
      const { $expanded: expanded } = body
      assert.deepEqual(Object.keys(expanded), ['photo', 'photos'])
      const { _id, originalName, contentType, size, url, owner } = expanded.photo
      assert.deepEqual(
        [_id, originalName, contentType, size, owner],
        [photo, 'a.txt', 'text/plain', 5, undefined],
      )
      assert.deepEqual(
        expanded.photos.map((one: { _id: string }) => one._id),
        [other, photo],
      )
      const { pathname, search } = new URL(url)
      assert.equal((await app.request('GET', pathname + search)).text, 'photo')

      const filter = { _id: product }
      const [list, query, through] = [
        await ask(bob, 'GET', `products?expand=photo&filter=${encodeURIComponent(JSON.stringify(filter))}`),
        await ask(bob, 'POST', 'products/query', { filter, expand: 'photo', fields: 'open' }),
        await ask(bob, 'GET', `orders/${order}?expand=product.photo`),
      ]
      for (const shown of [list.body.data[0], query.body.data[0], through.body.$expanded.product])
        assert.deepEqual(shown.$expanded.photo, expanded.photo)
      for (const [path, message] of [
        ['photo.x', /"photo" holds files, in which nothing is expanded/],
        ['nothing', /these are: photo, photos, lines.scan, invoice, banner/],
        ['invoice', /cannot be expanded/],
      ] as const)
        assert.match(issueOf(await ask(bob, 'GET', `products/${product}?expand=${path}`)).message, message)
    })

    test('make their files public while a document has them there', async () => {
      const banner = await fileOf(ann, { bytes: 'banner' })
      const addressOf = async (id: string) => (await ask(ann, 'GET', `files/${id}`)).body.url
      const own = await addressOf(banner)
      const product = await made('products', { open: false, banner })
      const { url, access } = (await ask(ann, 'GET', `files/${banner}`)).body
      assert.equal(access, 'private')
      const { pathname } = new URL(url)
      const served = await app.request('GET', pathname)
      assert.deepEqual([served.status, served.text], [200, 'banner'])
      const expanded = await ask(ann, 'GET', `products/${product}?expand=banner`)
      assert.equal(expanded.body.$expanded.banner.url, url)
      assert.ok((await ask(ann, 'GET', 'files?limit=1000')).text.includes(pathname))
      // Who may not read the document does not read the record.
      assert.equal((await ask(bob, 'GET', `files/${banner}`)).status, 404)
      assert.equal(
        (await ask(ann, 'PATCH', `products/${product}`, { banner: null, photo: banner })).status,
        200,
      )
      assert.equal((await app.request('GET', pathname)).status, 404)
      assert.equal(await addressOf(banner), own)
    })

    test('show no file that came into them unchecked, before they were declared', async () => {
      const file = await fileOf(admin)
      const { _id } = await app.app.service('store').documents.create('letters', {}, { owner: bob!._id })
      await app.app.db.write(sql`
        update store_files set attached_by = null, owner = ${admin!._id} where id = ${file}`)
      assert.equal((await ask(admin, 'PUT', `letters/${_id}`, { attachment: file })).status, 200)
      assert.equal(
        (await ask(bob, 'GET', `letters/${_id}?expand=attachment`)).body.$expanded.attachment._id,
        file,
      )
      await app.app.db.write(sql`update store_files set attached_by = ${'other.field'} where id = ${file}`)
      assert.deepEqual((await ask(bob, 'GET', `letters/${_id}?expand=attachment`)).body.$expanded, {})
      assert.deepEqual(await statusesOf(file, [bob]), [404])
    })

    test('hold their files: one is not deleted while a document has it', async () => {
      const [file, free] = [await fileOf(ann), await fileOf(ann)]
      const ids = [await made('products', { photos: [file] }), await made('products', { photos: [file] })]
      const { uses } = (await ask(admin, 'GET', `files/${file}/uses`)).body
      assert.deepEqual(
        uses,
        ids.map((_id) => ({ collection: 'products', field: 'photos', _id })),
      )
      const refused = await ask(ann, 'DELETE', `files/${file}`)
      assert.equal(refused.status, 409, refused.text)
      assert.match(refused.body.error.message, /Documents of products have this file in photos/)
      assert.deepEqual(refused.body.error.details, { collection: 'products', field: 'photos', documents: 2 })
      const bulk = await ask(admin, 'POST', 'files/bulk', {
        action: 'delete',
        ids: [file, free],
        expected: 2,
      })
      assert.deepEqual([bulk.status, bulk.body.error.details], [409, { used: 1 }], bulk.text)
      assert.deepEqual([await isThere(file), await isThere(free)], [true, true])
      for (const id of ids) assert.equal((await ask(ann, 'DELETE', `products/${id}`)).status, 200)
      assert.equal((await ask(ann, 'DELETE', `files/${file}`)).status, 200)
    })

    test(`${AT_ONCE} deletions on one replica against documents that take the files on the other lose none`, async () => {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, i) => {
          const file = await fileOf(ann)
          const [first, second] = i % 2 === 0 ? [app, replica] : [replica, app]
          const deletion = () => askAt(first, ann, 'DELETE', `files/${file}`)
          const taking = () => askAt(second, ann, 'POST', 'products', { photo: file })
          const [gone, taken] =
            i % 4 < 2
              ? await Promise.all([deletion(), taking()])
              : (await Promise.all([taking(), deletion()])).toReversed()
          assert.deepEqual([gone!.status, taken!.status], (await isThere(file)) ? [409, 201] : [200, 400])
        }),
      )
    })

    test('of documents that are imported take the files that are there', async () => {
      const file = await fileOf(ann)
      const lines = [{ photo: file, open: true }, { photo: 'missing' }].map((one) => JSON.stringify(one))
      const form = new FormData()
      form.set('file', new File([lines.join('\n')], 'products.ndjson'))
      const body = new Response(form)
      const report = await app.request('POST', '/store/products/import', {
        token: admin!.token,
        raw: new Uint8Array(await body.arrayBuffer()),
        headers: { 'content-type': body.headers.get('content-type')! },
      })
      assert.deepEqual([report.body.created, report.body.failed], [1, 1], report.text)
      assert.deepEqual(await statusesOf(file, [undefined]), [200])
    })

    // Last: the tokens of users end with the hours that pass.
    test('keep what they hold, and what no document has had for a day is deleted', async () => {
      const [left, back, kept, free] = [
        await fileOf(ann),
        await fileOf(ann),
        await fileOf(ann),
        await fileOf(ann),
      ]
      const product = await made('products', { photos: [left, back], photo: kept })
      const letter = await made('letters', { attachment: left })
      const doomed = await made('products', { lines: [{ scan: left }] })
      assert.equal((await ask(key, 'PATCH', `products/${product}`, { photos: [] })).status, 200)
      assert.equal((await ask(key, 'DELETE', `letters/${letter}`)).status, 200)
      assert.equal((await ask(key, 'DELETE', `products/${doomed}`)).status, 200)
      await hoursLater(app, 1)
      await hoursLater(app, 22)
      assert.equal(await isThere(left), true)
      assert.equal((await ask(key, 'PATCH', `products/${product}`, { photos: [back] })).status, 200)
      await hoursLater(app, 3)
      assert.deepEqual(
        [await isThere(left), await isThere(back), await isThere(kept), await isThere(free)],
        [false, true, true, true],
      )
      const metrics = await Promise.all([app, replica].map((one) => one.request('GET', '/metrics')))
      const counted = metrics.map(({ text }) => Number(/^sixwire_files_released_total (\d+)/m.exec(text)![1]))
      assert.ok(counted[0]! + counted[1]! >= 1, String(counted))
    })

    test(`${AT_ONCE} documents that take files while the job deletes them lose none`, async () => {
      const files = await Promise.all(Array.from({ length: AT_ONCE }, () => fileOf(key)))
      const product = await made('products', { lines: files.map((scan) => ({ scan })) }, key)
      assert.equal((await ask(key, 'DELETE', `products/${product}`)).status, 200)
      await app.app.db.write(sql`
        update store_files set released_at = 1 where attached_by is not null and ${isOneOf('id', files)}`)
      const [taken] = await Promise.all([
        Promise.all(
          files.map(async (photo, i) => {
            const of = i % 2 === 0 ? app : replica
            for (let n = 0; n < i / 4; n++) await askAt(of, key, 'GET', `files/${photo}`)
            return (await askAt(of, key, 'POST', 'products', { photo })).status
          }),
        ),
        hoursLater(app, 1),
      ])
      await hoursLater(app, 1)
      for (const [i, file] of files.entries()) assert.equal(taken[i], (await isThere(file)) ? 201 : 400)
    })

    test('delete nothing that another configuration may know of, nor by an index that is not whole', async () => {
      const [elsewhere, file] = [await fileOf(key), await fileOf(key)]
      const product = await made('products', { photos: [elsewhere, file] }, key)
      await app.app.db.write(sql`
        update store_files set attached_by = ${'products.photos\nproducts.picture'} where id = ${elsewhere}`)
      assert.equal((await ask(key, 'PATCH', `products/${product}`, { photos: [] })).status, 200)
      await hoursLater(app, 1)
      const released = () => app.app.db.get(sql`select released_at from store_files where id = ${file}`)
      assert.notEqual((await released())!['released_at'], null)
      // Its indexes are dropped by the start of a server that does not declare them.
      const { files: _, ...others } = products
      const without = await startApp(ending, engine, {
        config: { store: { collections: { products: others } } },
        databaseUrl,
        environment,
        clock: app.clock,
      })
      await hoursLater(app, 30)
      assert.equal(await isThere(file), true)
      assert.equal((await ask(key, 'DELETE', `files/${file}`)).status, 503)
      await without.stop()
      const again = await startApp(ending, engine, { config, databaseUrl, environment, clock: app.clock })
      await hoursLater(app, 1)
      await until(async () => (await askAt(again, key, 'GET', `files/${file}`)).status === 404)
      assert.equal(await isThere(elsewhere), true)
    })
  })
})
