import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { Config } from '../../../../app.ts'
import { sql } from '../../../../db/sql.ts'
import { registerAs } from '../../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../../testing/app.ts'
import { startReplicas } from '../../../../testing/auth.ts'
import { eachEngine } from '../../../../testing/engines.ts'
import { until } from '../../../../testing/until.ts'
import { follow, shortOf } from '../../changes/changes.fixture.ts'

const SCHEMA = {
  type: 'object',
  properties: { title: { type: 'string', minLength: 1 }, price: { type: 'integer', minimum: 0 } },
  required: ['title'],
}

/** Calls of somebody about the definition of a collection. */
const definer = (app: TestApp, token: string | undefined, name = 'books') => ({
  get: () => app.request('GET', `/store/collections/${name}`, { token }),
  put: (body: unknown, { query = '', ifMatch }: { query?: string; ifMatch?: string } = {}) =>
    app.request('PUT', `/store/collections/${name}${query}`, {
      token,
      body,
      ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
    }),
  remove: () => app.request('DELETE', `/store/collections/${name}`, { token }),
  versions: () => app.request('GET', `/store/collections/${name}/versions`, { token }),
})

const create = (app: TestApp, token: string, body: unknown, name = 'books') =>
  app.request('POST', `/store/${name}`, { token, body })

eachEngine((engine) => {
  test('a collection is defined by a call: its rules and its schema are in force at once', async (t) => {
    const app = await startApp(t, engine)
    const { token: admin } = await registerAs(app, 'admin')
    const { token: user } = await registerAs(app, 'user')
    const books = definer(app, admin)
    const none = await books.get()
    assert.ok(!('/store/books' in (await app.request('GET', '/openapi.json')).body.paths))
    assert.deepEqual(none.body, { name: 'books', source: 'none', definition: null })
    assert.equal((await create(app, user, { title: 7 })).status, 201)
    await app.request('DELETE', '/store/books?documents=1', { token: admin })

    const definition = { read: 'public', create: 'admin', schema: SCHEMA, hidden: ['cost'] }
    const defined = await books.put(definition)
    assert.equal(defined.status, 200, defined.text)
    assert.equal(defined.headers.get('etag'), '"1"')
    assert.deepEqual(
      [defined.body.source, defined.body.version, defined.body.definition],
      ['stored', 1, definition],
    )
    assert.equal((await create(app, user, { title: 'a' })).status, 403)
    const wrong = await create(app, admin, { title: '' })
    assert.deepEqual([wrong.status, wrong.body.error.details.issues[0].path], [400, '/body/title'])
    const made = await create(app, admin, { title: 'a', cost: 5 })
    assert.equal(made.status, 201)
    const described = await app.request('GET', '/openapi.json')
    assert.ok('/store/books' in described.body.paths, 'it is described')
    const seen = await app.request('GET', `/store/books/${made.body._id}`)
    assert.deepEqual([seen.status, seen.body.cost], [200, undefined], 'a stranger reads it, without its cost')
  })

  test('each version is kept, named by who made it, and changed only if it is the one that was read', async (t) => {
    const app = await startApp(t, engine)
    const { token, _id } = await registerAs(app, 'admin')
    const books = definer(app, token)
    assert.equal((await books.put({ read: 'public' })).status, 200)
    assert.equal((await books.put({ read: 'user' }, { ifMatch: '"1"' })).body.version, 2)
    assert.equal((await books.put({ read: 'admin' }, { ifMatch: '"1"' })).status, 412)
    const { data } = (await books.versions()).body
    assert.deepEqual(
      data.map((one: Record<string, unknown>) => [
        one['version'],
        one['state'],
        one['definition'],
        one['createdBy'],
      ]),
      [
        [2, 'active', { read: 'user' }, _id],
        [1, 'past', { read: 'public' }, _id],
      ],
    )
    const audit = await app.app.db.all(
      sql<{ action: string }>`select action from sixwire_audit where target = 'collection:books'`,
    )
    assert.deepEqual(
      audit.map(({ action }) => action),
      ['collection.defined', 'collection.defined'],
    )
  })

  test('documents that do not fit are counted by a dry run, and keep the definition out', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = definer(app, token)
    await create(app, token, [{ title: 'a', price: 1 }, { title: 'b', price: -1 }, { price: 2 }])
    const tried = await books.put({ schema: SCHEMA }, { query: '?dryRun=true' })
    assert.equal(tried.status, 200, tried.text)
    const { documents, unfit, examples } = tried.body.report
    assert.deepEqual([tried.body.source, documents, unfit], ['none', 3, 2])
    assert.deepEqual(examples.map((one: { issues: { path: string }[] }) => one.issues[0]!.path).toSorted(), [
      '/price',
      '/title',
    ])
    const refused = await books.put({ schema: SCHEMA })
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'DEFINITION_REFUSED'])
    assert.match(refused.body.error.message, /^The definition is refused: 2 of 3 documents do not fit/)
    assert.equal(refused.body.error.details.unfit, 2)
    assert.equal((await create(app, token, { price: -3 })).status, 201, 'all is as it was')
    const { source, newest } = (await books.get()).body
    assert.deepEqual([source, newest.state, newest.report.unfit], ['none', 'refused', 2])
  })

  test('fields become unique once no two documents are the same in them', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = definer(app, token)
    const [, second] = (await create(app, token, [{ slug: 'a' }, { slug: 'a' }])).body.data
    const [{ _id: sameAs }, { _id }] = (await app.request('GET', '/store/books', { token })).body.data
    const tried = await books.put({ unique: ['slug'] }, { query: '?dryRun=true' })
    const [found] = tried.body.report.duplicates
    assert.deepEqual([found.fields, found.documents, found.examples.length], [['slug'], 2, 1])
    assert.deepEqual(new Set(Object.values(found.examples[0])), new Set([_id, sameAs]))
    const refused = await books.put({ unique: ['slug'] })
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'DEFINITION_REFUSED'])
    assert.match(refused.body.error.message, /slug/)
    assert.deepEqual(refused.body.error.details.duplicates, [found], 'the refusal has what the dry run has')
    assert.equal((await create(app, token, { slug: 'a' })).status, 201, 'writes go on')
    assert.equal((await app.request('DELETE', `/store/books/${second._id}`, { token })).status, 200)
    const { data } = (await app.request('GET', '/store/books', { token })).body
    await app.request('DELETE', `/store/books/${data[0]._id}`, { token })
    const defined = await books.put({ unique: ['slug'], search: ['title'] })
    assert.equal(defined.status, 200, defined.text)
    assert.equal((await create(app, token, { slug: 'a' })).status, 409)
    assert.equal((await create(app, token, { slug: 'b', title: 'Long words' })).status, 201)
    const search = () => app.request('GET', '/store/books?search=words', { token })
    await until(async () => (await search()).status === 200)
    assert.equal((await search()).body.total, 1)
    assert.equal((await books.put({})).status, 200)
    // Other servers may still need it for a second.
    await until(async () => (await create(app, token, { slug: 'b' })).status === 201)
  })

  test('a dry run finds what cannot become unique: together, in lists, in other cases, among many', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const books = definer(app, token)
    const many = Array.from({ length: 300 }, (_, at) => ({
      slug: `Long-${at % 280}`,
      place: { shelf: at % 150, row: at },
    }))
    await create(app, token, [
      ...many,
      { tags: ['a', 'b'] },
      { tags: ['b', 'c', 'a'] },
      { tags: ['c'] },
      { slug: 'LONG-279' },
    ])
    await create(app, token, { slug: null, both: [{ a: 1 }], and: [{ b: 1 }, { b: 2 }] })
    const unique = [
      'tags',
      { fields: ['slug'], ignoreCase: true },
      ['place.shelf', 'place.row'],
      ['both.a', 'and.b'],
    ]
    const { report } = (await books.put({ unique }, { query: '?dryRun=true' })).body
    assert.deepEqual(
      report.duplicates.map(
        (one: { fields: string[]; documents: number; examples: unknown[]; reason?: string }) => [
          one.fields.join(),
          one.documents,
          one.examples.length,
          one.reason?.replace(/document \S+/, 'document'),
        ],
      ),
      [
        ['tags', 3, 3, undefined],
        ['slug', 42, 10, undefined],
        ['both.a,and.b', 0, 0, 'in the document both.a and and.b are in two arrays'],
      ],
    )
    assert.equal((await books.put({ unique: [['place.shelf', 'place.row']] })).status, 200)
  })

  test('another server knows within a second, and its streams are reset', async (t) => {
    const [one, other] = await startReplicas(t, engine)
    const { token: admin } = await registerAs(one, 'admin')
    const { token: user } = await registerAs(one, 'user')
    await create(one, admin, { title: 'a' })
    const stream = await follow(t, other.url, { token: user, query: { collection: 'books' } })
    await until(() => stream.events.map(shortOf).includes('ready'))
    const sent = { title: 'secret', owner: 'nobody' }
    assert.equal((await definer(one, admin).put({ read: 'owner', create: 'admin' })).status, 200)
    await until(() => stream.events.map(shortOf).includes('reset changed'))
    assert.equal((await create(other, user, sent)).status, 403)
    assert.equal((await create(one, admin, sent)).status, 201)
    assert.deepEqual((await other.request('GET', '/store/books', { token: user })).body.data, [])
    assert.equal((await definer(one, admin).put({ read: 'admin', create: 'user' })).status, 200)
    await until(async () => (await create(other, user, { title: 'mine' })).status === 201)
    assert.ok(!JSON.stringify(stream.events).includes('secret'), 'nothing of it was sent')
  })

  test('what the configuration defines is shown with its file, and is not changed', async (t) => {
    const config: Config = {
      store: { collections: { people: 'owner', books: { read: 'public', hooks: { beforeCreate() {} } } } },
    }
    const app = await startApp(t, engine, { config })
    const { token } = await registerAs(app, 'admin')
    const shown = (await definer(app, token).get()).body
    assert.deepEqual([shown.source, shown.definition], ['configuration', { read: 'public' }])
    assert.equal(typeof shown.file, 'string')
    for (const answer of [await definer(app, token).put({}), await definer(app, token).remove()])
      assert.deepEqual([answer.status, answer.body.error.code], [409, 'CONFLICT'])
    const related = await definer(app, token, 'notes').put({ relations: { author: { to: 'people' } } })
    assert.equal(related.status, 200, related.text)
  })

  test('a definition that is removed leaves the documents to the policy; what others lead to stays', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const { token: user } = await registerAs(app, 'user')
    const [people, books] = [definer(app, token, 'people'), definer(app, token)]
    assert.equal((await people.put({ read: 'admin' })).status, 200)
    assert.equal((await books.put({ relations: { author: { to: 'people' } } })).status, 200)
    assert.equal((await app.request('GET', '/store/people', { token: user })).status, 403)
    const needed = await people.remove()
    assert.deepEqual([needed.status, needed.body.error.code], [409, 'DEFINITION_REFUSED'])
    assert.match(needed.body.error.message, /books/)
    assert.equal((await books.remove()).status, 200)
    assert.equal((await people.remove()).status, 200)
    assert.equal((await app.request('GET', '/store/people', { token: user })).status, 200)
    assert.equal((await people.remove()).status, 404)
  })

  test('definitions stay after a start; one that cannot be read any more closes its collection', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(first, 'admin')
    const { token: user } = await registerAs(first, 'user')
    const made = await definer(first, token, 'people').put({ read: 'public' })
    assert.equal(made.status, 200, made.text)
    assert.equal((await definer(first, token).put({ create: 'admin', unique: ['slug'] })).status, 200)
    assert.equal((await create(first, token, { slug: 'a' })).status, 201)
    await first.stop()

    const second = await startApp(t, engine, { databaseUrl })
    assert.equal((await create(second, user, { slug: 'b' })).status, 403)
    assert.equal((await create(second, token, { slug: 'a' })).status, 409)
    await second.app.db.write(sql`
      update store_collection_versions set definition = '{"read":"everybody"}' where collection = 'people'`)
    await second.stop()

    const third = await startApp(t, engine, { databaseUrl })
    assert.equal((await third.request('GET', '/store/people', { token: user })).status, 403)
    assert.equal((await third.request('GET', '/store/people', { token })).status, 200)
    assert.equal((await create(third, user, { slug: 'b' })).status, 403, 'the other one is as before')
    assert.equal((await definer(third, token, 'people').put({ read: 'public' })).status, 200)
    assert.equal((await third.request('GET', '/store/people')).status, 200)
  })

  test('a version that a server has left is put into force by the next', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const first = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(first, 'admin')
    await first.stop()
    const { app } = await startApp(t, engine, { databaseUrl })
    await app.db.batch([
      sql`insert into store_collection_versions (collection, version, state, definition, created_by, created_at)
          values ('books', 1, 'pending', '{"read":"public"}', 'somebody', 1)`,
      sql`insert into sixwire_jobs (id, kind, payload, run_at, attempts, state, created_at)
          values ('one', 'store.definitions', '{"versions":[{"collection":"books","version":1}]}', 0, 0, 'ready', 0)`,
    ])
    const third = await startApp(t, engine, { databaseUrl })
    await until(async () => (await definer(third, token).get()).body.source === 'stored')
  })

  test('collections that relate to each other are defined together, or none of them', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const putAll = (definitions: unknown) =>
      app.request('PUT', '/store/collections', { token, body: { definitions } })
    const circle = [
      { name: 'teams', definition: { relations: { lead: { to: 'members' } } }, version: 0 },
      { name: 'members', definition: { read: 'admin', relations: { team: { to: 'teams' } } }, version: 0 },
    ]
    await create(app, token, [{ slug: 'a' }, { slug: 'a' }], 'others')
    const refused = await putAll([...circle, { name: 'others', definition: { unique: ['slug'] } }])
    const { error } = refused.body
    assert.deepEqual(
      [refused.status, error.code, error.details.collection],
      [409, 'DEFINITION_REFUSED', 'others'],
    )
    assert.match(error.message, /^The definition of others is refused: the documents/)
    assert.equal(error.details.duplicates[0].documents, 2)
    const { source, newest } = (await definer(app, token, 'teams').get()).body
    assert.deepEqual([source, newest.state, newest.report.causedBy], ['none', 'refused', 'others'])

    const defined = await putAll(circle)
    assert.equal(defined.status, 200, defined.text)
    assert.deepEqual(
      defined.body.data.map((one: Record<string, unknown>) => [one['name'], one['source'], one['version']]),
      [
        ['teams', 'stored', 2],
        ['members', 'stored', 2],
      ],
    )
    const { _id } = (await create(app, token, {}, 'members')).body
    assert.equal((await create(app, token, { lead: _id }, 'teams')).status, 201)
    assert.equal((await app.request('DELETE', `/store/members/${_id}`, { token })).status, 409)

    const [teams, members] = circle.map((one) => ({ ...one, version: 2, definition: {} }))
    assert.equal((await putAll([teams, { ...members, version: 1 }])).status, 412)
    for (const [body, path] of [
      [[teams, teams], '/body/definitions/1/name'],
      [[teams, { ...members, definition: { read: 'all' } }], '/body/definitions/1/definition/read'],
      [
        [{ ...teams, definition: { relations: { a: { to: 'none' } } } }],
        '/body/definitions/0/definition/relations/a/to',
      ],
    ] as const) {
      const answer = await putAll(body)
      assert.deepEqual([answer.status, answer.body.error.details.issues[0].path], [400, path])
    }
    assert.equal((await definer(app, token, 'teams').get()).body.version, 2, 'none has changed')
  })

  test('what was sent together with a version that is taken back is refused', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    const { app } = await startApp(t, engine, { databaseUrl })
    await app.db.batch([
      sql`insert into store_collection_versions (collection, version, state, definition, created_by, created_at) values
          ('books', 1, 'refused', '{"read":"public"}', 'somebody', 1),
          ('people', 1, 'pending', '{"read":"public"}', 'somebody', 1)`,
      sql`insert into sixwire_jobs (id, kind, payload, run_at, attempts, state, created_at)
          values ('one', 'store.definitions', '{"versions":[{"collection":"people","version":1},{"collection":"books","version":1}]}', 0, 0, 'ready', 0)`,
    ])
    const other = await startApp(t, engine, { databaseUrl })
    const { token } = await registerAs(other, 'admin')
    await until(async () => (await definer(other, token, 'people').get()).body.newest.state === 'refused')
    const { newest } = (await definer(other, token, 'people').get()).body
    assert.deepEqual([newest.state, newest.report.causedBy], ['refused', 'books'])
  })

  test('of two definitions at once one is taken, and the other is told', async (t) => {
    const [one, other] = await startReplicas(t, engine)
    const { token } = await registerAs(one, 'admin')
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        [one, other].map((app, i) => definer(app, token).put({ readOnly: [`f${i}`] })),
      )
      const statuses = answers.map(({ status }) => status)
      assert.ok(
        statuses.includes(200) && statuses.every((status) => [200, 409].includes(status)),
        answers.map(({ text }) => text).join(),
      )
    }
    const states = (await definer(one, token).versions()).body.data.map(
      (version: { state: string }) => version.state,
    )
    assert.equal(states.filter((state: string) => state === 'active').length, 1)
    assert.equal(states[0], 'active')
  })

  test('only operators define; what cannot be read is answered at its place', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const { token: user } = await registerAs(app, 'user')
    const { token: viewer } = await registerAs(app, 'viewer')
    assert.equal((await definer(app, undefined).put({})).status, 401)
    assert.equal((await definer(app, user).put({})).status, 403)
    assert.equal((await definer(app, user).get()).status, 403)
    assert.equal((await definer(app, viewer).put({})).status, 403)
    assert.equal((await definer(app, viewer).get()).status, 200)
    for (const [body, path] of [
      [{ read: 'all' }, '/body/read'],
      [{ read: 7 }, '/body/read'],
      [{ read: { $where: '1' } }, '/body/read'],
      [{ update: { before: 'owner' } }, '/body/update'],
      [{ reads: 'owner' }, '/body/reads'],
      [{ hidden: ['a', 'a.b'] }, '/body/hidden'],
      [{ schema: { type: 'objekt' } }, '/body/schema'],
      [{ schema: { pattern: '(a+)+\\1' } }, '/body/schema'],
      [{ relations: { a: { to: 'nowhere' } } }, '/body/relations/a/to'],
      [{ relations: { a: { to: 'b', onDelete: 'forget' } } }, '/body/relations/a/onDelete'],
      [{ files: { a: { types: ['picture'] } } }, '/body/files/a/types/0'],
      [{ unique: [['a', 'a']] }, '/body/unique/0'],
      [{ search: ['cost'], hidden: ['cost'] }, '/body/search'],
      [{ hooks: { beforeCreate: 'alert(1)' } }, '/body/hooks'],
      ['owner', '/body'],
    ] as const) {
      const answer = await definer(app, token).put(body)
      assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`)
      const found = String(answer.body.error.details?.issues?.[0]?.path ?? answer.text)
      assert.ok(found.startsWith(path), `${JSON.stringify(body)}: ${answer.text}`)
      assert.doesNotMatch(answer.text, /store\.collections/, 'it speaks of the body')
    }
    assert.equal((await definer(app, token, 'files').put({})).status, 400)
  })

  test('large, circular and malformed definitions are taken or refused, and the server goes on', async (t) => {
    const app = await startApp(t, engine)
    const { token } = await registerAs(app, 'admin')
    const fields = (count: number) => ({
      properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, { type: 'integer' }])),
    })
    const books = definer(app, token)
    for (const count of [2_000, 10_000]) {
      const { status, body } = await books.put({ schema: fields(count) })
      assert.deepEqual([status, body.error.details.issues[0].path], [400, '/body/schema'])
    }
    assert.equal((await books.put({ schema: fields(1_000) })).status, 200)
    assert.equal((await create(app, token, { f999: 'x' })).status, 400)
    assert.equal((await create(app, token, { f999: 1 })).status, 201)
    const circular = { relations: { next: { to: 'chain', onDelete: 'cascade' } } }
    assert.equal((await definer(app, token, 'chain').put(circular)).status, 200)
    for (const [other, to] of [
      ['left', 'chain'],
      ['chain', 'left'],
    ] as const) {
      const answer = await definer(app, token, other).put({ relations: { next: { to } } })
      assert.equal(answer.status, 200, answer.text)
    }
    const rule = { $or: Array.from({ length: 4_000 }, (_, i) => ({ [`members.${i % 9}`]: '$$user._id' })) }
    const deep = Array.from({ length: 500 }).reduce<object>((inner) => ({ properties: { a: inner } }), {})
    for (const body of [
      { read: rule },
      { schema: deep },
      { schema: { $ref: '#' } },
      { schema: JSON.parse('{"properties":{"__proto__":{"type":"string"}}}') as object },
      { hidden: ['__proto__', 'constructor.prototype'] },
      { unique: Array.from({ length: 200 }, (_, i) => `f${i}`) },
    ]) {
      const { status, text } = await definer(app, token, 'hostile').put(body)
      assert.ok(status === 200 || (status >= 400 && status < 500), text.slice(0, 300))
    }
    for (const name of ['книги', '本', 'a b', '%00', 'files', 'collections'])
      assert.ok(
        [400, 404].includes((await definer(app, token, encodeURIComponent(name)).put({})).status),
        name,
      )
    assert.equal((await create(app, token, { f1: 1 })).status, 201)
  })
})
