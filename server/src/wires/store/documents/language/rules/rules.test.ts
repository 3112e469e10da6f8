import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type RequestOptions, type TestAnswer, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'

const config = {
  store: {
    user: {
      teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' },
      addresses: { collection: 'memberships', filter: { invited: '$$user.email' }, value: 'team' },
    },
    collections: {
      memberships: 'admin',
      projects: {
        read: ['owner', { members: '$$user._id' }, { team: { $in: '$$user.teams' } }],
        create: { members: '$$user._id' },
        update: {
          before: { members: '$$user._id', locked: { $ne: true } },
          after: { members: '$$user._id' },
        },
        delete: 'owner',
      },
      posts: { read: [{ published: true }, 'owner'], update: { published: false }, delete: ['public'] },
      others: { read: { author: { $ne: '$$user._id' } }, create: 'user' },
      notOf: { read: { $nor: [{ email: '$$user.email' }] }, create: 'user' },
      invitations: { read: { email: '$$user.email' }, create: 'user' },
      outside: { read: { team: { $nin: '$$user.addresses' } }, create: 'user' },
      staff: { read: { role: '$$user.role' }, create: 'user' },
      memos: 'owner',
      inbox: { read: 'admin', create: 'user' },
      drafts: { read: { author: '$$user._id' }, update: { closed: { $ne: true } }, create: 'user' },
    },
  },
} satisfies Config

type Person = Awaited<ReturnType<TestApp['register']>>

someEngine((engine) => {
  let app: TestApp
  let [ann, bob, eve, admin]: Person[] = []
  let key: string
  const ending = endOfSuite()
  before(async () => {
    app = await startApp(ending, engine, { config })
    admin = await app.register()
    ann = await app.register()
    bob = await app.register()
    eve = await app.register()
    ;({ key } = await app.app.service('auth').keys.create('key', ['store']))
  })

  const ask = (
    who: Person | string | undefined,
    method: string,
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<TestAnswer> =>
    app.request(method, `/store/${path}`, {
      token: typeof who === 'object' ? who.token : who,
      body,
      ...options,
    })
  async function made(who: Person, collection: string, fields: object): Promise<string> {
    const answered = await ask(who, 'POST', collection, fields)
    assert.equal(answered.status, 201, answered.text)
    return answered.body._id
  }
  const status = async (...args: Parameters<typeof ask>): Promise<number> => (await ask(...args)).status
  async function listed(who: Person | string | undefined, collection: string, query = ''): Promise<string[]> {
    const { status: code, body, text } = await ask(who, 'GET', `${collection}?limit=1000&${query}`)
    assert.equal(code, 200, text)
    assert.equal(body.total, body.data.length)
    return body.data.map((one: { _id: string }) => one._id)
  }
  const filter = (of: object): string => `filter=${encodeURIComponent(JSON.stringify(of))}`

  test('any of the alternatives of a rule lets somebody read, and nothing else does', async () => {
    const team = `t${ann!._id}`
    await made(admin!, 'memberships', { user: bob!._id, team })
    const own = await made(ann!, 'projects', { members: [ann!._id] })
    const ofBoth = await made(ann!, 'projects', { members: [ann!._id, bob!._id] })
    const ofTeam = await made(ann!, 'projects', { members: [ann!._id], team })
    const reads = async (who: Person | string | undefined) =>
      Promise.all([own, ofBoth, ofTeam].map((id) => status(who, 'GET', `projects/${id}`)))
    assert.deepEqual(await reads(ann), [200, 200, 200])
    assert.deepEqual(await reads(bob), [404, 200, 200])
    assert.deepEqual(await reads(eve), [404, 404, 404])
    assert.deepEqual(await reads(admin), [200, 200, 200])
    assert.deepEqual(await reads(key), [200, 200, 200])
    assert.deepEqual(await reads(undefined), [401, 401, 401])
    assert.deepEqual(await listed(ann, 'projects'), [ofTeam, ofBoth, own])
    assert.deepEqual(await listed(bob, 'projects', 'sort=_id'), [ofBoth, ofTeam])
    assert.deepEqual(await listed(bob, 'projects', `sort=-team&${filter({ team: { $exists: false } })}`), [
      ofBoth,
    ])
    assert.deepEqual(await listed(bob, 'projects', filter({ _id: { $in: [own, ofBoth] } })), [ofBoth])
    assert.deepEqual(await listed(eve, 'projects'), [])
    assert.equal(await status(undefined, 'GET', 'projects'), 401)
  })

  test('a client cannot get around the rule by its own filter', async () => {
    const id = await made(ann!, 'projects', { members: [ann!._id], name: 'secret' })
    for (const of of [
      {},
      { members: ann!._id },
      { $or: [{ members: ann!._id }, { _id: id }, {}] },
      { $nor: [{ members: bob!._id }] },
      { members: '$$user._id' },
      { members: { $in: ['$$user._id'] } },
      { owner: '$$user._id' },
      { name: { $regex: 'sec' } },
    ])
      assert.deepEqual(await listed(eve, 'projects', filter(of)), [], JSON.stringify(of))
    assert.equal(await status(eve, 'GET', `projects/${id}?fields=name`), 404)
    assert.deepEqual(await listed(ann, 'projects', filter({ members: '$$user._id' })), [])
  })

  test('a cursor of one person is none of another one, and ends with the access', async () => {
    for (let i = 0; i < 3; i++) await made(ann!, 'projects', { members: [ann!._id, bob!._id], i })
    const page = await ask(bob, 'GET', `projects?limit=1&${filter({ i: { $gte: 0 } })}`)
    const next = `projects?limit=1&${filter({ i: { $gte: 0 } })}&cursor=${page.body.nextCursor}`
    assert.equal(await status(eve, 'GET', next), 400)
    assert.equal(await status(bob, 'GET', next), 200)
    // The values of a rule are part of what a cursor is good for.
    await made(admin!, 'memberships', { user: bob!._id, team: 'another' })
    assert.equal(await status(bob, 'GET', next), 400)
  })

  test('an ETag of a document does not outlast the access to it', async () => {
    const team = `etag${ann!._id}`
    const membership = await made(admin!, 'memberships', { user: bob!._id, team })
    const id = await made(ann!, 'projects', { members: [ann!._id], team })
    const etag = (await ask(bob, 'GET', `projects/${id}`)).headers.get('etag')!
    const cached = (who: Person | undefined, match: string) =>
      status(who, 'GET', `projects/${id}`, undefined, { headers: { 'if-none-match': match } })
    assert.deepEqual([await cached(bob, etag), await cached(ann, etag)], [304, 304])
    assert.equal(await status(admin, 'DELETE', `memberships/${membership}`), 200)
    for (const match of [etag, '*'])
      assert.deepEqual(
        [await cached(bob, match), await cached(eve, match), await cached(undefined, match)],
        [404, 404, 401],
      )
    assert.equal(await cached(ann, etag), 304)
  })

  test('a create must fit the rule with the fields that it sends, each of a list', async () => {
    const refused = await ask(eve, 'POST', 'projects', { members: [bob!._id] })
    assert.equal(refused.status, 403)
    assert.equal(refused.body.error.code, 'FORBIDDEN')
    assert.deepEqual(refused.body.error.details, { action: 'create' })
    const before = await app.app.service('store').documents.count('projects')
    const mixed = [{ members: [eve!._id] }, { members: [bob!._id] }]
    assert.equal(await status(eve, 'POST', 'projects', mixed), 403)
    assert.equal(await app.app.service('store').documents.count('projects'), before)
    assert.equal(await status(undefined, 'POST', 'projects', { members: [] }), 401)
    assert.equal(await status(key, 'POST', 'projects', { members: [] }), 201)
  })

  test('an update must fit the rule before and after it', async () => {
    const id = await made(ann!, 'projects', { members: [ann!._id, bob!._id] })
    const put = (who: Person | undefined, body: object) => status(who, 'PUT', `projects/${id}`, body)
    // Into the members, from outside.
    assert.equal(await put(eve, { members: [eve!._id] }), 404)
    assert.equal(await status(eve, 'PATCH', `projects/${id}`, { members: [eve!._id] }), 404)
    assert.equal(await put(undefined, {}), 401)
    // Out of them, oneself.
    assert.equal(await put(bob, { members: [ann!._id] }), 403)
    assert.equal(await put(bob, { name: 'ours' }), 200)
    assert.equal(await put(ann, { members: [ann!._id] }), 200)
    assert.equal(await put(bob, { name: 'mine' }), 404)
    // Readable, not to be changed.
    assert.equal(await put(ann, { locked: true }), 200)
    const locked = await ask(ann, 'PUT', `projects/${id}`, { locked: false })
    assert.equal(locked.status, 403)
    assert.deepEqual(locked.body.error.details, { action: 'update' })
    assert.equal(await put(admin, { locked: false, members: [bob!._id] }), 200)
    assert.equal(await status(bob, 'DELETE', `projects/${id}`), 403)
    assert.equal(await status(eve, 'DELETE', `projects/${id}`), 404)
    assert.equal(await status(ann, 'DELETE', `projects/${id}`), 200)
  })

  test('an update is decided in order: readable, If-Match, rule', async () => {
    const id = await made(ann!, 'projects', { members: [ann!._id], locked: true })
    const stale = { headers: { 'if-match': '"9"' } }
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const body = method === 'DELETE' ? undefined : {}
      assert.equal(await status(eve, method, `projects/${id}`, body, stale), 404)
      assert.equal(await status(ann, method, `projects/${id}`, body, stale), 412)
    }
    assert.equal(await status(ann, 'PUT', `projects/${id}`, {}), 403)
  })

  test('a stranger reads what a rule without $$user gives to all, and writes only what is public', async () => {
    const shown = await made(ann!, 'posts', { published: true })
    const draft = await made(ann!, 'posts', { published: false })
    assert.deepEqual(await listed(undefined, 'posts'), [shown])
    assert.deepEqual(await listed(ann, 'posts', 'sort=_id'), [shown, draft])
    assert.equal(await status(undefined, 'GET', `posts/${shown}`), 200)
    assert.equal(await status(undefined, 'GET', `posts/${draft}`), 404)
    assert.equal(await status(undefined, 'PUT', `posts/${shown}`, {}), 401)
    assert.equal(await status(eve, 'PUT', `posts/${shown}`, {}), 403)
    assert.equal(await status(undefined, 'DELETE', `posts/${draft}`), 404)
    assert.equal(await status(undefined, 'DELETE', `posts/${shown}`), 200)
  })

  test('who may not read what an update rule allows cannot update it either: errors would tell of it', async () => {
    const id = await made(ann!, 'drafts', { author: ann!._id })
    assert.equal(await status(eve, 'PATCH', `drafts/${id}`, { text: 'x' }), 404)
    assert.equal(await status(ann, 'PATCH', `drafts/${id}`, { text: 'x' }), 200)
  })

  test('a value that is not known denies, also where a filter is negated', async () => {
    const id = await made(ann!, 'others', { author: ann!._id })
    assert.deepEqual(await listed(bob, 'others'), [id])
    assert.deepEqual(await listed(ann, 'others'), [])
    // A stranger has no _id: nothing is unequal to it.
    assert.equal(await status(undefined, 'GET', 'others'), 401)
    assert.equal(await status(undefined, 'GET', `others/${id}`), 401)
    // Nor is null equal to it.
    await made(ann!, 'invitations', { email: null })
    await made(ann!, 'invitations', {})
    assert.deepEqual(await listed(eve, 'invitations'), [])
  })

  test('an address counts once it is verified, for $$user.email and for values that are found by it', async () => {
    const mallory = await app.register(`victim${engine.name}@example.com`)
    const invited = await made(ann!, 'invitations', { email: mallory.email })
    const others = await made(ann!, 'notOf', { email: 'x' })
    const outside = await made(ann!, 'outside', { team: 'x' })
    for (const collection of ['invitations', 'notOf', 'outside'])
      assert.deepEqual(await listed(mallory, collection), [], collection)
    assert.equal(await status(mallory, 'GET', `invitations/${invited}`), 404)
    await app.app.db.write(sql`update auth_users set email_verified_at = 1 where id = ${mallory._id}`)
    assert.deepEqual(await listed(mallory, 'invitations'), [invited])
    assert.deepEqual(await listed(mallory, 'notOf'), [others])
    assert.deepEqual(await listed(mallory, 'outside'), [outside])
  })

  test('what users write about themselves is no role', async () => {
    const id = await made(admin!, 'staff', { role: 'admin' })
    const patched = await app.request('PATCH', '/auth/me', {
      token: eve!.token,
      body: { metadata: { role: 'admin', _id: ann!._id } },
    })
    assert.equal(patched.status, 200)
    assert.equal(await status(eve, 'GET', `staff/${id}`), 404)
  })

  test('an owner in the body is a field like any other: the document belongs to who created it', async () => {
    const id = await made(eve!, 'memos', { owner: ann!._id, text: 'mine' })
    const reads = async () => Promise.all([ann, eve, admin].map((who) => status(who, 'GET', `memos/${id}`)))
    assert.deepEqual(await reads(), [404, 200, 200])
    for (const method of ['PUT', 'PATCH']) {
      for (const body of [{ owner: ann!._id }, { owner: null }]) {
        assert.equal(await status(eve, method, `memos/${id}`, body), 200)
        assert.deepEqual(await reads(), [404, 200, 200])
      }
      assert.equal(await status(ann, method, `memos/${id}`, { owner: ann!._id }), 404)
    }
    assert.equal(await status(eve, 'PATCH', `memos/${id}`, { $set: { owner: ann!._id } }), 200)
    assert.deepEqual(await reads(), [404, 200, 200])
    assert.deepEqual(await listed(ann, 'memos', filter({ owner: ann!._id })), [])
    assert.deepEqual(await listed(eve, 'memos', filter({ owner: ann!._id })), [id])
    assert.equal(await status(ann, 'DELETE', `memos/${id}`), 404)
  })

  test('who may not read what was written gets its _id and the times', async () => {
    const created = await ask(ann, 'POST', 'inbox', { text: 'hello' })
    assert.deepEqual([created.status, Object.keys(created.body)], [201, ['_id', 'createdAt', 'updatedAt']])
    const list = await ask(ann, 'POST', 'inbox', [{ text: 'a' }, { text: 'b' }])
    for (const one of list.body.data) assert.deepEqual(Object.keys(one), ['_id', 'createdAt', 'updatedAt'])
    assert.equal((await ask(admin, 'GET', `inbox/${created.body._id}`)).body.text, 'hello')
  })

  test('a repeated create under an Idempotency-Key shows no more than may be read now', async () => {
    const headers = { 'idempotency-key': `k${engine.name}` }
    const options = { headers }
    const first = await ask(ann, 'POST', 'drafts', { author: ann!._id, note: 'mine' }, options)
    assert.equal(first.body.note, 'mine')
    const again = await ask(ann, 'POST', 'drafts', { author: ann!._id, note: 'mine' }, options)
    assert.deepEqual([again.headers.get('idempotency-replayed'), again.text], ['true', first.text])
    await ask(admin, 'PUT', `drafts/${first.body._id}`, { author: bob!._id })
    const withdrawn = await ask(ann, 'POST', 'drafts', { author: ann!._id, note: 'mine' }, options)
    assert.equal(withdrawn.status, 201)
    assert.deepEqual(Object.keys(withdrawn.body), ['_id', 'createdAt', 'updatedAt'])
    assert.equal(await app.app.service('store').documents.count('drafts', ann!._id), 2)
  })

  test('a repeated create has fields with numeric names where they were', async () => {
    const options = { headers: { 'idempotency-key': `numbers${engine.name}` } }
    const create = () => ask(ann, 'POST', 'drafts', { author: ann!._id, 0: 'zero' }, options)
    const first = await create()
    assert.equal((await create()).text, first.text)
    await ask(admin, 'PUT', `drafts/${first.body._id}`, { author: bob!._id })
    assert.deepEqual(Object.keys((await create()).body), ['_id', 'createdAt', 'updatedAt'])
  })

  test('values that are too large or too many to be read deny: some of them would let too much through', async () => {
    await made(ann!, 'outside', { team: 'x' })
    const lists = async (...memberships: object[][]): Promise<number> => {
      const person = await app.register()
      await app.app.db.write(sql`update auth_users set email_verified_at = 1 where id = ${person._id}`)
      for (const some of memberships) {
        const invited = some.map((one) => ({ ...one, invited: person.email }))
        assert.equal(await status(admin, 'POST', 'memberships', invited), 201)
      }
      return (await listed(person, 'outside')).length
    }
    const large = Array.from({ length: 5 }, () => [{ team: 'x', pad: 'x'.repeat(900_000) }])
    assert.equal(await lists(...large), 0)
    const many = Array.from({ length: 1000 }, (_, i) => ({ team: `t${i}` }))
    assert.equal(await lists(many, [{ team: 'y' }]), 0)
    assert.notEqual(await lists(many), 0)
  })

  test('nobody gets documents out of the archive of a backup that rules keep from them', async () => {
    const { body } = await ask(ann, 'POST', 'backup')
    assert.equal(await status(ann, 'GET', `backups/${body._id}/archive`), 403)
    assert.equal(await status(key, 'GET', `backups/${body._id}/archive`), 200)
  })

  test('explain of a collection with rules is for administrators, whatever the policy', async () => {
    assert.equal(await status(ann, 'GET', 'projects/explain'), 403)
    assert.equal(await status(admin, 'GET', 'projects/explain'), 200)
    assert.equal(await status(ann, 'GET', 'inbox/explain'), 403)
    assert.equal(await status(ann, 'GET', 'undeclared/explain'), 200)
  })
})
