// Whoever asks for whatever gets what the rules of the collection say, and no more: see model.fixture.ts.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, test } from 'node:test'

import fc from 'fast-check'

import type { Config } from '../../../../../app.ts'
import { sql } from '../../../../../db/sql.ts'
import { startApp, type RequestOptions, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import type { Json } from '../query/filter.ts'
import { matches } from '../query/reference.fixture.ts'
import { sorted } from '../query/sort.fixture.ts'
import {
  asksOf,
  concealed,
  holds,
  isPlain,
  isPrivileged,
  merged,
  put,
  refusedAudience,
  shown,
  sortsBy,
  valuesAt,
  without,
  type CollectionOption,
  type Fields,
  type Person,
  type Row,
} from './model.fixture.ts'
import { collection as anyCollection, scenario, type Does, type Scenario } from './scenarios.fixture.ts'

const RUNS = isLongRun ? { sqlite: 3_000, postgres: 2_000 } : { sqlite: 50, postgres: 30 }
const COLLECTIONS = isLongRun ? 400 : 60
// To find the smallest example of a fault may take longer than a test has.
const SHRINK_MS = 60_000
const SEED = Number(process.env['SEED'] ?? randomInt(2 ** 31))

const options = fc.sample(anyCollection, { numRuns: COLLECTIONS, seed: SEED })
const nameOf = (i: number): string => `c${i}`

const config: Config = {
  store: {
    user: {
      teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' },
      numbers: { collection: 'memberships', filter: { address: '$$user.email' }, value: 'numbers' },
    },
    collections: {
      memberships: 'admin',
      ...Object.fromEntries(options.map((option, i) => [nameOf(i), option as object])),
    },
    indexes: Object.fromEntries(options.map((_, i) => [nameOf(i), INDEXES(i)])),
  },
}

/** Every third collection has indexes. */
function INDEXES(i: number): string[] {
  return i % 3 === 0 ? ['members', 'author,-n', 'team', 'flag', 'o.a'] : []
}

type Documents = Map<string, Row>
/** A collection as the model has it. */
type Model = { name: string; option: CollectionOption; rows: Documents; etags: Map<string, string> }
type Of<Kind extends Does['kind']> = Extract<Does, { kind: Kind }>

someEngine((engine) => {
  const ending = endOfSuite()
  let app: TestApp
  let admin: Person
  let users: Person[]
  let people: Person[]

  before(async () => {
    app = await startApp(ending, engine, { config })
    const registered = async (kind: 'user' | 'admin', isVerified: boolean): Promise<Person> => {
      const { _id, email, token } = await app.register()
      if (isVerified)
        await app.app.db.write(sql`update auth_users set email_verified_at = 1 where id = ${_id}`)
      const values = { _id, role: kind, teams: [], ...(isVerified && { email, numbers: [] }) }
      return { kind, _id, token, values }
    }
    admin = await registered('admin', true)
    users = [
      await registered('user', true),
      await registered('user', true),
      await registered('user', true),
      await registered('user', false),
    ]
    const join = async (who: Person, team: string, numbers: number[]): Promise<void> => {
      const { _id: user, email: address } = who.values
      await app.app
        .service('store')
        .documents.create('memberships', { user: user!, address: address ?? null, team, numbers })
      ;(who.values['teams'] as Json[]).push(team)
      if (address !== undefined) (who.values['numbers'] as Json[]).push(...numbers)
    }
    for (const team of ['t1', 't2', 't3']) await join(users[0]!, team, [0])
    await join(users[1]!, 't1', [1, 2])
    await join(users[3]!, 't2', [3])
    const { key } = await app.app.service('auth').keys.create('key', ['store'])
    const stranger = { kind: 'stranger', _id: '', token: undefined, values: {} } as const
    people = [...users, ...users, stranger, admin, { kind: 'key', _id: 'key', token: key, values: {} }]
  })

  /** With the users that the placeholders stand for. */
  const filled = <T>(value: T): T =>
    JSON.parse(
      JSON.stringify(value).replaceAll(/"(mail)?@(\d)"/g, (_, mail, i) =>
        JSON.stringify(mail ? (users[Number(i)]!.values['email'] ?? 'unverified') : users[Number(i)]!._id),
      ),
    ) as T
  const ask = (who: Person, method: string, path: string, body?: unknown, options: RequestOptions = {}) =>
    app.request(method, `/store/${path}`, { token: who.token, body, ...options })
  const asAdmin = async (path: string): Promise<Fields> => (await ask(admin, 'GET', path)).body

  async function modelOf({ collection, documents }: Scenario): Promise<Model> {
    const i = collection % COLLECTIONS
    const name = nameOf(i)
    const { data } = (await asAdmin(`${name}?limit=1000`)) as { data: Fields[] }
    await Promise.all(data.map(({ _id }) => ask(admin, 'DELETE', `${name}/${_id as string}`)))
    const rows: Documents = new Map()
    for (const { owner, fields } of documents) {
      const who = users[owner]!._id
      const made = await app.app.service('store').documents.create(name, filled(fields), { owner: who })
      rows.set(made._id, { document: made as Fields, owner: who, version: 1 })
    }
    return { name, option: options[i]!, rows, etags: new Map() }
  }

  const inOrder = ({ rows }: Model): Row[] =>
    [...rows.values()].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
  function pick(model: Model, which: number): Row | undefined {
    const all = inOrder(model)
    return all[which % (all.length + 1)]
  }
  const idOf = (row: Row | undefined): string =>
    row ? (row.document['_id'] as string) : '01arz3ndektsv4rrffq69g5fav'

  /** The status of what comes before the fields of a change, by the order of the design. */
  function refusedChange(
    { option }: Model,
    who: Person,
    row: Row | undefined,
    action: 'update' | 'delete',
    isStale: boolean,
  ): number | undefined {
    const rule = action === 'update' ? option.update.before : option.delete
    const audience = refusedAudience(rule, who, true)
    if (audience) return audience
    if (!row) return 404
    const isAllowed = holds(rule, who, row)
    if (!holds(option.read, who, row) && !(isAllowed && isPlain(option))) return 404
    if (isStale) return 412
    return isAllowed ? undefined : 403
  }

  /** What somebody is answered who wrote a document. */
  function answered({ option }: Model, who: Person, row: Row): Fields {
    const { _id, createdAt, updatedAt } = row.document as { [name: string]: string }
    return holds(option.read, who, row)
      ? shown(option, who, row)
      : { _id: _id!, createdAt: createdAt!, updatedAt: updatedAt! }
  }

  /** Also by others, who may see other fields. */
  async function getByAll(model: Model, who: Person, does: Of<'get'>): Promise<void> {
    const owner = users.find(({ _id }) => _id === pick(model, does.which)?.owner)
    for (const reader of new Set([who, owner ?? who, admin])) await get(model, reader, does)
  }

  async function get(model: Model, who: Person, { which }: Of<'get'>): Promise<void> {
    const row = pick(model, which)
    const path = `${model.name}/${idOf(row)}`
    const audience = refusedAudience(model.option.read, who, false)
    const { status, body, headers } = await ask(who, 'GET', path)
    if (audience || !row || !holds(model.option.read, who, row)) {
      assert.equal(status, audience ?? 404)
      return
    }
    assert.equal(status, 200)
    const expected = shown(model.option, who, row)
    assert.deepEqual(body, expected)
    // One ETag is of one representation, whoever reads it.
    const etag = headers.get('etag')!
    const others = model.etags.get(`${path} ${etag}`)
    if (others !== undefined) assert.equal(others, JSON.stringify(expected))
    for (const [known, text] of model.etags)
      if (known.startsWith(path) && !known.endsWith(etag)) {
        const conditional = { headers: { 'if-none-match': known.split(' ')[1]! } }
        assert.equal((await ask(who, 'GET', path, undefined, conditional)).status, 200, text)
      }
    model.etags.set(`${path} ${etag}`, JSON.stringify(expected))
    const current = await ask(who, 'GET', path, undefined, { headers: { 'if-none-match': etag } })
    assert.deepEqual([current.status, current.text], [304, ''])
  }

  async function list(model: Model, who: Person, asked: Of<'list'>): Promise<void> {
    const { sort, limit, offset, without: left } = asked
    const filter = asked.filter && filled(asked.filter)
    const read = (reader: Person, more: object = {}) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(filter && { filter: JSON.stringify(filter) }),
        ...(sort && { sort: sort.join(',') }),
        ...(left !== undefined && { fields: `-${left}` }),
        ...more,
      })
      return ask(reader, 'GET', `${model.name}?${query.toString()}`)
    }
    /** The list of somebody, or the status of its refusal. */
    function listOf(reader: Person): number | Fields[] {
      const audience = refusedAudience(model.option.read, reader, false)
      if (audience) return audience
      const { hidden = [], showTo = {} } = model.option
      const paths = isPrivileged(reader) ? [] : [...hidden, ...Object.keys(showTo)]
      if (
        asksOf(filter ?? {}, paths) ||
        sortsBy(sort ?? [], paths) ||
        (left &&
          asksOf(
            { [left]: 1 },
            paths.filter((one) => !one.startsWith(`${left}.`)),
          ))
      )
        return 400
      const rows = inOrder(model).filter(
        (row) => holds(model.option.read, reader, row) && matches(row.document, filter ?? {}),
      )
      const order = sorted(
        rows.map(({ document }) => document),
        (sort ?? ['-createdAt']).join(','),
      )
      if (order === 'refused') return 400
      return order.map((i) => {
        const document = shown(model.option, reader, rows[i]!)
        return left === undefined ? document : (without(document, left, false) as Fields)
      })
    }
    // What may be asked by one is not for others to ask.
    const byAdmin = listOf(admin)
    assert.equal((await read(admin)).status, typeof byAdmin === 'number' ? byAdmin : 200)
    const expected = listOf(who)
    const first = await read(who)
    if (typeof expected === 'number') {
      assert.equal(first.status, expected, first.text)
      return
    }
    assert.equal(first.status, 200, first.text)
    assert.equal(first.body.total, expected.length)
    const walked = [...first.body.data]
    for (let { nextCursor } = first.body; nextCursor !== undefined;) {
      const page = await read(who, { cursor: nextCursor })
      assert.equal(page.body.total, expected.length)
      walked.push(...page.body.data)
      nextCursor = page.body.nextCursor
    }
    assert.deepEqual(walked, expected)
    assert.deepEqual((await read(who, { offset })).body.data, expected.slice(offset, offset + limit))
    // A cursor is of use to those only for whom it is the same list.
    if (first.body.nextCursor === undefined) return
    for (const other of new Set(people)) {
      const page = await read(other, { cursor: first.body.nextCursor })
      if (page.status !== 200) continue
      const theirs = listOf(other) as Fields[]
      assert.equal(page.body.total, theirs.length)
      assert.deepEqual(page.body.data, theirs.slice(limit, 2 * limit))
    }
  }

  async function create(model: Model, who: Person, asked: Of<'create'>): Promise<void> {
    const { option, name, rows } = model
    const bodies = filled(asked.isList ? asked.bodies : asked.bodies.slice(0, 1))
    const { status, body, text } = await ask(who, 'POST', name, asked.isList ? bodies : bodies[0])
    const made = bodies.map((document) => ({ document, owner: who._id, version: 1 }))
    const isProtected = (row: Row): boolean =>
      !isPrivileged(who) &&
      [...concealed(option, who, row), ...(option.readOnly ?? [])].some(
        (path) => valuesAt(row.document, path).length > 0,
      )
    // Those of an array are decided on one after the other, by what they hold alone.
    const refusals = made.flatMap((row) =>
      isProtected(row) ? [400] : holds(option.create, who, row) ? [] : [403],
    )
    const refused = who.kind === 'stranger' ? 401 : (refusedAudience(option.create, who, true) ?? refusals[0])
    if (refused !== undefined) {
      assert.equal(status, refused, text)
      return
    }
    assert.equal(status, 201, text)
    for (const [i, one] of (asked.isList ? body.data : [body]).entries()) {
      const { _id, createdAt, updatedAt } = one
      const row = { ...made[i]!, document: { _id, createdAt, updatedAt, ...made[i]!.document } }
      if (who.kind === 'key') row.owner = 'key'
      rows.set(_id, row)
      assert.deepEqual(one, answered(model, who, row))
    }
  }

  async function change(model: Model, who: Person, asked: Of<'put' | 'patch'>): Promise<void> {
    const { option } = model
    const row = pick(model, asked.which)
    const path = `${model.name}/${idOf(row)}`
    const echo = asked.isEcho && row ? shown(option, who, row) : {}
    const sent: Fields = {
      ...echo,
      ...filled(asked.body),
      ...(asked.removes !== undefined && { [asked.removes]: null }),
    }
    const version = row?.version ?? 1
    const etag = { '*': '*', current: `"${version}"`, marked: `W/"${version}-0"`, stale: `"${version + 1}"` }
    const headers = asked.ifMatch && { 'if-match': etag[asked.ifMatch] }
    const method = asked.kind.toUpperCase()
    const { status, body, text } = await ask(who, method, path, sent, headers && { headers })
    const refused = refusedChange(model, who, row, 'update', asked.ifMatch === 'stale')
    if (refused !== undefined || !row) {
      assert.equal(status, refused, text)
      return
    }
    const hidden = concealed(option, who, row)
    const fixed = [...hidden, ...(isPrivileged(who) ? [] : (option.readOnly ?? []))]
    const { _id, createdAt, updatedAt, ...given } = sent
    const next =
      asked.kind === 'put' ? put(row.document, given, fixed) : (merged(row.document, given) as Fields)
    const changes = (of: string): boolean =>
      JSON.stringify(valuesAt(row.document, of)) !== JSON.stringify(valuesAt(next, of))
    if (hidden.some((of) => valuesAt(given, of).length > 0) || fixed.some(changes)) {
      assert.equal(status, 400, text)
      return
    }
    const changed = { ...row, document: next, version: version + 1 }
    if (!holds(option.update.after, who, changed)) {
      assert.equal(status, 403, text)
      return
    }
    assert.equal(status, 200, text)
    const { updatedAt: at, ...stored } = await asAdmin(path)
    const { updatedAt: _, ...expected } = next
    assert.deepEqual(stored, expected)
    changed.document = { ...next, updatedAt: at! }
    model.rows.set(idOf(row), changed)
    assert.deepEqual(body, answered(model, who, changed))
  }

  async function remove(model: Model, who: Person, { which, ifMatch }: Of<'delete'>): Promise<void> {
    const row = pick(model, which)
    const etag = `"${(row?.version ?? 1) + (ifMatch === 'stale' ? 1 : 0)}"`
    const headers = ifMatch && { 'if-match': etag }
    const { status, text } = await ask(
      who,
      'DELETE',
      `${model.name}/${idOf(row)}`,
      undefined,
      headers && { headers },
    )
    assert.equal(status, refusedChange(model, who, row, 'delete', ifMatch === 'stale') ?? 200, text)
    if (status === 200) model.rows.delete(idOf(row))
  }

  function perform(model: Model, who: Person, does: Does): Promise<void> {
    if (does.kind === 'get') return getByAll(model, who, does)
    if (does.kind === 'list') return list(model, who, does)
    if (does.kind === 'create') return create(model, who, does)
    return does.kind === 'delete' ? remove(model, who, does) : change(model, who, does)
  }

  test('every request of every caller gets what the rules say', async (t) => {
    t.diagnostic(`seed ${SEED}`)
    await fc.assert(
      fc.asyncProperty(scenario, async (one) => {
        const model = await modelOf(one)
        for (const { who, does } of one.requests)
          await perform(model, people[who % people.length]!, does).catch((error: unknown) => {
            const { kind, values } = people[who % people.length]!
            const about = { option: model.option, kind, values, does, rows: inOrder(model) }
            throw new Error(`SEED=${SEED} ${JSON.stringify(about)}\n${String(error)}`, { cause: error })
          })
        const { data, total } = (await asAdmin(`${model.name}?limit=1000&sort=_id`)) as {
          data: Fields[]
          total: number
        }
        assert.deepEqual(
          data,
          inOrder(model).map(({ document }) => document),
          'what is stored',
        )
        assert.equal(total, model.rows.size)
      }),
      {
        numRuns: RUNS[engine.name],
        seed: SEED,
        plugins: isLongRun ? [] : [fc.interruptAfterTimeLimit(SHRINK_MS)],
      },
    )
  })
})
