import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { newId } from '../../../../../base/ids.ts'
import { startApp, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { eachEngine, endOfSuite } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'

/** How many calls a race has. */
const AT_ONCE = isLongRun ? 200 : 50
/** How many documents refer to each other in a circle: each of so many deletions goes through all of them. */
const CIRCLE = isLongRun ? 60 : 30
const ROUNDS = isLongRun ? 40 : 20

const config = {
  store: {
    collections: {
      people: {
        read: 'public',
        hidden: ['salary'],
        relations: { company: { to: 'companies', onDelete: 'unset' } },
      },
      companies: { read: [{ open: true }, 'owner'] },
      products: { read: 'public' },
      staff: {
        read: 'public',
        hidden: ['boss'],
        relations: { boss: { to: 'staff' }, mentor: { to: 'staff' } },
      },
      orders: {
        read: 'owner',
        relations: {
          customer: { to: 'people' },
          'lines.product': { to: 'products', onDelete: 'unset' },
          parent: { to: 'orders', onDelete: 'cascade' },
          tags: { to: 'products', onDelete: 'unset' },
        },
      },
      notes: {
        read: 'user',
        relations: { order: { to: 'orders', onDelete: 'cascade' }, of: { to: 'orders' } },
      },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>

eachEngine((engine) => {
  let app: TestApp
  let replica: TestApp
  let [admin, ann, bob]: Person[] = []
  let key: { readonly token: string }
  const ending = endOfSuite()
  before(async () => {
    const databaseUrl = await engine.migratedUrl()
    app = await startApp(ending, engine, { config, databaseUrl })
    replica = await startApp(ending, engine, { config, databaseUrl })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
    key = { token: (await app.app.service('auth').keys.create('key', ['store'])).key }
  })

  const askAt = (
    of: TestApp,
    who: { readonly token: string } | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<TestAnswer> => of.request(method, `/store/${path}`, { token: who?.token, body })
  const ask = (who: { readonly token: string } | undefined, method: string, path: string, body?: unknown) =>
    askAt(app, who, method, path, body)
  async function made(collection: string, fields: object, who = ann!): Promise<string> {
    const answered = await ask(who, 'POST', collection, fields)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }
  const stored = (collection: string, id: string) => app.app.service('store').documents.get(collection, id)
  function issueOf({ status, body, text }: TestAnswer): { path: string; message: string } {
    assert.equal(status, 400, text)
    return body.error.details.issues[0]
  }

  test('a reference leads to a document that is there and that its writer may read', async () => {
    const product = await made('products', {})
    const closed = await made('companies', { open: false }, bob)
    const order = await made('orders', { lines: [{ product }, { product: null }, {}], tags: [] })
    for (const [collection, fields, at] of [
      ['orders', { lines: [{ product }, { product: newId(Date.now()) }] }, '/lines/1/product'],
      ['orders', { customer: 'x' }, '/customer'],
      ['orders', { customer: 5 }, '/customer'],
      ['orders', { customer: { _id: product } }, '/customer'],
      ['orders', { tags: [product, 'x'] }, '/tags/1'],
      ['orders', { lines: [[{ product }]] }, '/lines/0/0/product'],
      ['people', { company: closed }, '/company'],
    ] as const) {
      assert.equal(issueOf(await ask(ann, 'POST', collection, fields)).path, `/body${at}`)
      assert.equal(issueOf(await ask(ann, 'POST', collection, [{}, fields])).path, `/body/1${at}`)
      if (collection === 'orders')
        assert.equal(issueOf(await ask(ann, 'PUT', `orders/${order}`, fields)).path, `/body${at}`)
    }
    // Of one that is missing the same is said as of one that is out of reach.
    const texts = [closed, newId(Date.now())].map(async (company) => {
      const answered = await ask(ann, 'POST', 'people', { company })
      return answered.text.replace(/"requestId":"[^"]*"/, '')
    })
    assert.equal(await texts[0], await texts[1])
    assert.equal((await ask(bob, 'POST', 'people', { company: closed })).status, 201)
  })

  test('administrators and service keys are held to relations, though they may refer to what they like', async () => {
    const closed = await made('companies', { open: false }, bob)
    const person = await made('people', {})
    const customer = await made('people', {})
    await made('orders', { customer })
    for (const who of [admin!, key]) {
      const company = newId(Date.now())
      for (const [method, path, body] of [
        ['POST', 'people', { company }],
        ['PUT', `people/${person}`, { company }],
        ['PATCH', `people/${person}`, { company }],
        ['PATCH', `people/${person}`, { $set: { company } }],
      ] as const)
        assert.equal(issueOf(await ask(who, method, path, body)).path, '/body/company')
      assert.equal((await ask(who, 'PUT', `people/${person}`, { company: closed })).status, 200)
      assert.equal((await ask(who, 'DELETE', `people/${customer}`)).status, 409)
    }
    assert.equal((await ask(key, 'DELETE', `companies/${closed}`)).status, 200)
    assert.equal((await stored('people', person))!['company'], undefined)
  })

  test('a reference that is there already can stay, whatever its writer may read', async () => {
    const company = await made('companies', { open: true }, bob)
    const person = await made('people', { company })
    assert.equal((await ask(bob, 'PUT', `companies/${company}`, { open: false })).status, 200)
    assert.equal((await ask(ann, 'PUT', `people/${person}`, { company, name: 'x' })).status, 200)
    assert.equal(issueOf(await ask(ann, 'POST', 'people', { company })).path, '/body/company')
  })

  test('restrict refuses a deletion, also for documents that the caller does not see', async () => {
    const customer = await made('people', {}, bob)
    const order = await made('orders', { customer })
    const refused = await ask(bob, 'DELETE', `people/${customer}`)
    assert.equal(refused.status, 409)
    assert.deepEqual(refused.body.error.details, { collection: 'orders', field: 'customer' })
    assert.ok(!refused.text.includes(order))
    assert.equal((await ask(ann, 'PUT', `orders/${order}`, { customer: null })).status, 200)
    assert.equal((await ask(bob, 'DELETE', `people/${customer}`)).status, 200)
  })

  test('unset takes the reference out of each document, in arrays too', async () => {
    const [product, other] = [await made('products', {}, bob), await made('products', {})]
    const order = await made('orders', {
      lines: [{ product, n: 1 }, { product: other }, { product, n: 2 }],
      tags: [other, product],
    })
    assert.equal((await ask(bob, 'DELETE', `products/${product}`)).status, 200)
    const { lines, tags } = (await stored('orders', order))!
    assert.deepEqual([lines, tags], [[{ n: 1 }, { product: other }, { n: 2 }], [other]])
    assert.equal((await ask(ann, 'GET', `orders/${order}`)).headers.get('etag'), '"2"')
  })

  test('cascade deletes what refers to it, as deep as it goes, unless something else is kept by it', async () => {
    const parent = await made('orders', {})
    const child = await made('orders', { parent })
    const grandchild = await made('orders', { parent: child })
    const note = await made('notes', { order: grandchild })
    const other = await made('notes', { of: grandchild })
    assert.equal((await ask(ann, 'DELETE', `orders/${parent}`)).status, 409)
    for (const [collection, id] of [
      ['orders', parent],
      ['orders', child],
      ['notes', note],
    ] as const)
      assert.ok(await stored(collection, id))
    await ask(ann, 'DELETE', `notes/${other}`)
    // A document that refers to itself, and one that what is deleted as well would keep.
    await ask(ann, 'PUT', `orders/${parent}`, { parent })
    await ask(ann, 'PUT', `notes/${note}`, { of: child })
    assert.equal((await ask(ann, 'DELETE', `orders/${parent}`)).status, 200)
    for (const [collection, id] of [
      ['orders', parent],
      ['orders', child],
      ['orders', grandchild],
      ['notes', note],
    ] as const)
      assert.equal(await stored(collection, id), undefined)
  })

  test(`of ${CIRCLE} deletions at once of documents in one circle of cascades, one deletes them all`, async () => {
    const { body } = await ask(
      ann,
      'POST',
      'orders',
      Array.from({ length: CIRCLE }, () => ({})),
    )
    const ids: string[] = body.data.map((one: { _id: string }) => one._id)
    for (const [i, id] of ids.entries())
      assert.equal((await ask(ann, 'PUT', `orders/${id}`, { parent: ids.at(i - 1) })).status, 200)
    const answers = await Promise.all(
      ids.map((id, i) => askAt(i % 2 === 0 ? app : replica, ann, 'DELETE', `orders/${id}`)),
    )
    const others = answers.filter(({ status }) => status === 404)
    assert.deepEqual([others.length, answers.find((one) => !others.includes(one))?.status], [CIRCLE - 1, 200])
  })

  test('a deletion that would change more than 1000 documents changes none', async () => {
    const product = await made('products', {})
    const orders = Array.from({ length: 501 }, () => ({ tags: [product] }))
    for (let i = 0; i < 2; i++) assert.equal((await ask(ann, 'POST', 'orders', orders)).status, 201)
    const refused = await ask(ann, 'DELETE', `products/${product}`)
    assert.equal(refused.status, 409)
    assert.match(refused.body.error.message, /More than 1000 documents of orders/)
    assert.ok(await stored('products', product))
  })

  test('a deletion that would read more than 16 MiB changes nothing', async () => {
    const product = await made('products', {})
    for (let i = 0; i < 17; i++) await made('orders', { tags: [product], text: 'x'.repeat(1_000_000) })
    const refused = await ask(ann, 'DELETE', `products/${product}`)
    assert.equal(refused.status, 409)
    assert.match(refused.body.error.message, /more than 16 MiB/)
    assert.ok(await stored('products', product))
  })

  test(`${AT_ONCE} deletions on one replica against new references on the other leave no reference behind`, async () => {
    const targets = await ask(
      ann,
      'POST',
      'people',
      Array.from({ length: AT_ONCE }, () => ({})),
    )
    await Promise.all(
      targets.body.data.map(async ({ _id }: { _id: string }, i: number) => {
        const [first, second] = i % 2 === 0 ? [app, replica] : [replica, app]
        const [gone, added] = await Promise.all([
          askAt(first, ann, 'DELETE', `people/${_id}`),
          askAt(second, ann, 'POST', 'orders', { customer: _id }),
        ])
        const isThere = (await stored('people', _id)) !== undefined
        assert.deepEqual([gone.status, added.status], isThere ? [409, 201] : [200, 400])
      }),
    )
  })

  /** Deletes each of some documents on one replica while something is asked of the other one. */
  async function whileDeleted(
    targets: string,
    call: (id: string, of: TestApp, i: number) => Promise<TestAnswer>,
  ): Promise<{ id: string; gone: TestAnswer; other: TestAnswer; isThere: boolean; i: number }[]> {
    const rounds = Array.from({ length: ROUNDS }, () => ({}))
    const { body } = await ask(ann, 'POST', targets, rounds)
    return Promise.all(
      body.data.map(async ({ _id: id }: { _id: string }, i: number) => {
        const [first, second] = i % 2 === 0 ? [app, replica] : [replica, app]
        const deletion = () => askAt(first, ann, 'DELETE', `${targets}/${id}`)
        // Either is sent first as often as the other.
        const [gone, other] =
          i % 4 < 2
            ? await Promise.all([deletion(), call(id, second, i)])
            : (await Promise.all([call(id, second, i), deletion()])).toReversed()
        return { id, gone: gone!, other: other!, isThere: (await stored(targets, id)) !== undefined, i }
      }),
    )
  }

  for (const [method, change] of [
    ['PUT', (customer: string) => ({ customer })],
    ['PATCH', (customer: string) => ({ $set: { customer } })],
  ] as const)
    test(`no reference is left behind by a ${method} that adds it while its document is deleted`, async () => {
      const orders: string[] = await Promise.all(Array.from({ length: ROUNDS }, () => made('orders', {})))
      for (const { id, gone, other, isThere, i } of await whileDeleted('people', (customer, of, n) =>
        askAt(of, ann, method, `orders/${orders[n]}`, change(customer)),
      )) {
        assert.deepEqual([gone.status, other.status], isThere ? [409, 200] : [200, 400])
        assert.equal((await stored('orders', orders[i]!))!['customer'], isThere ? id : undefined)
      }
    })

  test('a new reference of a document that is deleted meanwhile is refused or taken out again', async () => {
    for (const { id, gone, other, isThere } of await whileDeleted('products', (product, of) =>
      askAt(of, ann, 'POST', 'orders', { tags: [product], lines: [{ product }] }),
    )) {
      assert.deepEqual([gone.status, isThere], [200, false], gone.text)
      if (other.status !== 201) assert.equal(issueOf(other).path, '/body/lines/0/product')
      else {
        const { tags, lines } = (await stored('orders', other.body._id))!
        assert.deepEqual([tags, lines], [[], [{}]], id)
      }
    }
  })

  test('a new document that a deletion would delete as well is refused or deleted', async () => {
    for (const { gone, other, isThere } of await whileDeleted('orders', (parent, of) =>
      askAt(of, ann, 'POST', 'orders', { parent }),
    )) {
      assert.deepEqual([gone.status, isThere], [200, false], gone.text)
      if (other.status !== 201) assert.equal(issueOf(other).path, '/body/parent')
      else assert.equal(await stored('orders', other.body._id), undefined)
    }
  })

  test('expand answers the documents as the caller may see them, and what is missing or out of reach alike', async () => {
    const [open, closed] = [
      await made('companies', { open: true }, bob),
      await made('companies', { open: true }, bob),
    ]
    const [ofOpen, ofClosed] = [
      await made('people', { company: open }),
      await made('people', { company: closed }),
    ]
    await app.app.service('store').documents.update('people', ofOpen, { salary: 5 })
    await ask(bob, 'PUT', `companies/${closed}`, { open: false })
    const product = await made('products', { name: 'p' })
    const order = await made('orders', { customer: ofOpen, lines: [{ product }, { product }], tags: [] })
    const { body } = await ask(
      ann,
      'GET',
      `orders/${order}?expand=customer.company,lines.product,parent,tags`,
    )
    assert.equal(body.customer, ofOpen)
    const { customer, ...others } = body.$expanded
    assert.deepEqual([customer._id, customer.salary], [ofOpen, undefined])
    assert.equal(customer.$expanded.company._id, open)
    assert.deepEqual(Object.keys(others), ['lines.product'])
    assert.deepEqual(
      others['lines.product'].map((one: { name: string }) => one.name),
      ['p'],
    )

    const list = await ask(
      ann,
      'GET',
      `people?expand=company&fields=name&sort=_id&filter=${encodeURIComponent(JSON.stringify({ _id: { $in: [ofOpen, ofClosed] } }))}`,
    )
    assert.deepEqual(
      list.body.data.map((one: { $expanded: { company?: { _id: string } } }) => one.$expanded.company?._id),
      [open, undefined],
    )
    assert.equal(
      (await ask(undefined, 'GET', `people/${ofOpen}?expand=company`)).body.$expanded.company._id,
      open,
    )
    const child = await made('orders', { parent: order })
    const levels = (await ask(ann, 'GET', `orders/${child}?expand=parent.customer.company`)).body
    const { customer: ofParent } = levels.$expanded.parent.$expanded
    assert.deepEqual([ofParent._id, ofParent.salary], [ofOpen, undefined])
    assert.equal(ofParent.$expanded.company._id, open)
    // Sent back, it is ignored.
    assert.equal((await ask(ann, 'PUT', `orders/${order}`, body)).status, 200)
    assert.equal((await ask(ann, 'PATCH', `orders/${order}`, { $expanded: {}, $set: { n: 1 } })).status, 200)
    assert.equal((await stored('orders', order))!['$expanded'], undefined)
  })

  test('a hidden relation is expanded for administrators only, at each level', async () => {
    const boss = await made('staff', { name: 'secret' })
    const member = await made('staff', { boss }, admin)
    const trainee = await made('staff', { mentor: member })
    for (const path of [
      `staff/${member}?expand=boss`,
      `staff/${trainee}?expand=mentor.boss`,
      'staff?expand=boss',
    ]) {
      for (const who of [ann, undefined]) {
        const refused = await ask(who, 'GET', path)
        const { path: at, message } = issueOf(refused)
        assert.equal(at, '/query/expand')
        assert.match(message, /^boss of staff cannot be expanded: only administrators and service keys/)
        assert.doesNotMatch(refused.text, /secret/)
      }
      assert.match((await ask(admin, 'GET', path)).text, /secret/)
    }
    // Nor does what is expanded show where it leads.
    const { body } = await ask(ann, 'GET', `staff/${trainee}?expand=mentor`)
    assert.deepEqual([body.$expanded.mentor._id, body.$expanded.mentor.boss], [member, undefined])
  })

  test('expand refuses what is no relation, and more than it answers', async () => {
    for (const [query, message] of [
      ['expand=author', /no relation of orders; these are: customer, lines.product, parent, tags/],
      ['expand=lines', /no relation of orders/],
      ['expand=customer.name', /"name" is no relation of people; these are: company/],
      ['expand=tags.x', /products has no relations/],
      ['expand=parent.parent.parent.parent', /more than 3 levels/],
      ['expand=', /"" is no relation/],
    ] as const) {
      const { path, message: text } = issueOf(await ask(ann, 'GET', `orders?${query}`))
      assert.equal(path, '/query/expand')
      assert.match(text, message)
    }
    const products = await ask(
      ann,
      'POST',
      'products',
      Array.from({ length: 501 }, () => ({})),
    )
    const tags = products.body.data.map((one: { _id: string }) => one._id)
    const order = await made('orders', { tags })
    assert.match(
      issueOf(await ask(ann, 'GET', `orders/${order}?expand=tags`)).message,
      /more than 500 documents/,
    )
    const large = await made('products', { text: '€'.repeat(333_333) })
    const orders = await ask(
      ann,
      'POST',
      'orders',
      Array.from({ length: 5 }, () => ({ tags: [large] })),
    )
    const ids = orders.body.data.map((one: { _id: string }) => one._id)
    const filter = encodeURIComponent(JSON.stringify({ _id: { $in: ids } }))
    assert.match(
      issueOf(await ask(ann, 'GET', `orders?expand=tags&filter=${filter}`)).message,
      /more than 4 MiB/,
    )
    assert.equal((await ask(ann, 'GET', `orders?limit=4&expand=tags&filter=${filter}`)).status, 200)
  })
})
