// Every route, driven from its own description with what no client should send.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'

import fc from 'fast-check'

import { sql } from './db/sql.ts'
import { startApp, type TestApp } from './testing/app.ts'
import { eachEngine, endOfSuite } from './testing/engines.ts'
import { exchange, type Exchanged } from './testing/exchange.ts'
import {
  hostileHeader,
  hostileSegment,
  hostileText,
  hostileValue,
  percentEncoded,
  spoiledJson,
  tampered,
  tamperedText,
} from './testing/hostile.ts'

const RUNS_PER_ROUTE = 200
const LONGEST_REFUSAL = 20_000 // characters: a refusal is not a way to have the server send much
// More than the server reads of one request's head is refused before any route is found.
const LONGEST_HEAD = 12_000
const PASSWORD = 'correct horse battery'

type Schema = { type?: string; properties?: Record<string, Schema>; required?: string[] }
type Operation = {
  /** `POST /store/{collection}` */
  key: string
  method: string
  path: string
  parameters: { in: 'path' | 'query' | 'header'; name: string; schema: Schema }[]
  body: Schema | undefined
  /** The codes that are described for each status; none for a success. */
  codes: Map<number, Set<string>>
}

/** A request before what is in `{{braces}}` is filled in with what the server knows. */
type Draft = {
  caller: string
  segments: Record<string, string>
  query: [name: string, value: string][]
  headers: Record<string, string>
  body: string | undefined
}

// What some inputs have to look like to get past the first check; `{{…}}` is filled in when it is sent.
const SENSIBLE: Record<string, readonly string[]> = {
  collection: ['things', 'things', 'others'],
  limit: ['1', '20', '5000'],
  offset: ['0', '3'],
  sort: ['-createdAt', 'n', '-n,a.b', '_id'],
  filter: ['{}', '{"n":1}', '{"n":{"$gte":1},"$or":[{"a":null},{"a.b":{"$exists":true}}]}'],
  cursor: ['{{cursor}}'],
  email: ['{{email}}', '{{newEmail}}'],
  password: [PASSWORD],
  currentPassword: [PASSWORD],
  newPassword: ['another passphrase'],
  refreshToken: ['{{refreshToken}}'],
  'if-match': ['"1"', '*'],
  'idempotency-key': ['one', 'two', '{{newEmail}}'],
}
const sensibleIds: Record<string, string> = { store: '{{documentId}}', auth: '{{sessionId}}' }
const CALLERS: Record<string, string | undefined> = {
  user: 'Bearer {{token}}',
  key: 'Bearer {{key}}',
  nobody: undefined,
  forger: 'Bearer {{token}}x',
  confused: 'Basic {{token}}',
}

async function readOperations(app: TestApp): Promise<Operation[]> {
  const { body } = await app.request('GET', '/openapi.json')
  return Object.entries(body.paths as Record<string, Record<string, any>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => ({
      key: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters,
      body: requestBody?.content['application/json'].schema,
      codes: new Map(
        Object.entries(responses as Record<string, any>).map(([status, { content }]) => {
          const schema = content?.['application/json']?.schema
          return [Number(status), new Set(schema?.properties?.error?.properties?.code?.enum)]
        }),
      ),
    })),
  )
}

function sensible(name: string, operation: Operation, schema: Schema): fc.Arbitrary<unknown> {
  if (name === 'id') return fc.constant(sensibleIds[operation.path.split('/')[1]!] ?? '{{documentId}}')
  const known = SENSIBLE[name]
  if (known) return fc.constantFrom(...known)
  if (schema.type === 'integer' || schema.type === 'number') return fc.nat(100)
  if (schema.type === 'boolean') return fc.boolean()
  return schema.type === 'object' ? fc.constant({}) : fc.string()
}

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 4): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

function drafts(operation: Operation): fc.Arbitrary<Draft> {
  const { parameters } = operation
  const text = ({ name, schema }: Operation['parameters'][number]): fc.Arbitrary<string> =>
    sensible(name, operation, schema).map(String)
  const of = (place: string) => parameters.filter((parameter) => parameter.in === place)

  const segments = fc.record(
    Object.fromEntries(
      of('path').map((parameter) => [
        parameter.name,
        mostly(
          text(parameter),
          hostileSegment.filter((segment) => segment !== 'health'),
          6,
        ),
      ]),
    ),
  )
  // Most are left out, so that those that are there are looked at.
  const times = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2)
  const query = fc
    .tuple(
      ...of('query').map((parameter) => {
        const odd = fc.oneof(hostileText, tamperedText(text(parameter)), tamperedText(text(parameter)))
        return fc
          .tuple(times, mostly(text(parameter), odd, 1))
          .map(([count, value]) =>
            Array.from({ length: count }, (): [string, string] => [parameter.name, value]),
          )
      }),
      fc.array(fc.tuple(hostileText, hostileText), { maxLength: 1 }),
    )
    .map((groups) => groups.flat())
  const headers = fc.record(
    {
      ...Object.fromEntries(of('header').map((one) => [one.name, mostly(text(one), hostileHeader, 2)])),
      'idempotency-key': mostly(fc.constantFrom(...SENSIBLE['idempotency-key']!), hostileHeader),
      'x-request-id': mostly(fc.constant('abc-123'), hostileHeader),
      'content-type': mostly(fc.constant('application/json'), hostileHeader, 9),
      accept: hostileHeader,
      'user-agent': hostileHeader,
      'x-forwarded-for': hostileHeader,
    },
    { requiredKeys: ['content-type'] },
  )
  const fields = Object.entries(operation.body?.properties ?? {})
  const known = fc.record(
    Object.fromEntries(
      fields.map(([name, schema]) => [name, mostly(sensible(name, operation, schema), hostileValue, 5)]),
    ),
  )
  const json = fc
    .oneof({ weight: 2, arbitrary: known }, { weight: 1, arbitrary: tampered(known) })
    .map((value) => JSON.stringify(value))
  const body = fc.oneof(
    { weight: 6, arbitrary: json },
    { weight: 2, arbitrary: spoiledJson(json) },
    { weight: 1, arbitrary: hostileValue.map((value) => JSON.stringify(value)) },
  )
  return fc.record({
    caller: mostly(
      fc.constantFrom('user', 'user', 'key'),
      fc.constantFrom('nobody', 'forger', 'confused'),
      5,
    ),
    segments,
    query,
    headers,
    body: operation.body
      ? fc.option(body, { freq: 20, nil: undefined })
      : fc.option(body, { freq: 2, nil: undefined }),
  })
}

eachEngine((engine) => {
  let app: TestApp
  let operations: Operation[]
  let key: string
  /** What drafts are filled in with. */
  let known: Record<string, string>
  let names = 0
  const ending = endOfSuite()

  async function newPerson(): Promise<void> {
    const { token, refreshToken, email } = await app.register(`person${names++}@example.com`)
    const sessionId = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sid
    known = { ...known, key, token, refreshToken, email, sessionId }
  }
  async function newDocument(): Promise<void> {
    const { body } = await app.request('POST', '/store/things', { token: key, body: { n: 1, a: { b: 2 } } })
    const page = await app.request('GET', '/store/things?limit=1', { token: key })
    known = { ...known, documentId: body._id, cursor: page.body.nextCursor ?? 'none' }
  }
  before(async () => {
    app = await startApp(ending, engine)
    operations = await readOperations(app)
    key = (await app.app.service('auth').keys.create('test', ['*'])).key
    await newPerson()
    await newDocument()
    await newDocument()
  })

  const fill = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) =>
      name === 'newEmail' ? `person${names++}@example.com` : known[name]!,
    )

  /** How many records there are: what a refused request must not change. */
  const records = async () =>
    await app.app.db.get<{ users: number; documents: number }>(sql`
      select (select count(*) from auth_users) as users, (select count(*) from store_documents) as documents`)

  function send({ method, path }: Operation, draft: Draft, body = draft.body): Promise<Exchanged> {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const segment = draft.segments[name]!
      return segment.startsWith('{{') ? percentEncoded(fill(segment)) : segment
    })
    const query = draft.query.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(fill(value))}`)
    const authorization = CALLERS[draft.caller]
    const address = filled + (query.length > 0 ? `?${query.join('&')}` : '')
    const headers = {
      ...Object.fromEntries(Object.entries(draft.headers).map(([name, value]) => [name, fill(value)])),
      ...(authorization !== undefined && { authorization: fill(authorization) }),
    }
    fc.pre(address.length + JSON.stringify(headers).length <= LONGEST_HEAD)
    return exchange(app.url, {
      method,
      path: address,
      headers,
      body: body === undefined ? undefined : Buffer.from(fill(body)),
    })
  }

  /** An answer that is described; where it is a refusal, one that says what was wrong and where. */
  function check({ key, codes }: Operation, { status, headers, text }: Exchanged): void {
    assert.ok(status >= 200 && status < 500, `${key} answered ${status}: ${text}`)
    assert.match(String(headers['x-request-id']), /^[\w.:-]{1,128}$/)
    if (status < 400) {
      assert.ok(codes.has(status), `${key} answers ${status}, which is not described`)
      return
    }
    assert.ok(text.length <= LONGEST_REFUSAL, `${key} refuses with ${text.length} characters`)
    assert.match(String(headers['content-type']), /^application\/json/)
    const { error } = JSON.parse(text)
    assert.equal(typeof error.message, 'string')
    assert.ok(
      codes.get(status)?.has(error.code),
      `${key} answers ${status} ${error.code}, which is not described`,
    )
    if (error.code !== 'VALIDATION_ERROR') return
    assert.ok(error.details?.issues?.length > 0, `${key} does not say what is wrong: ${text}`)
    for (const { path, message } of error.details.issues) {
      assert.match(path, /^\/(?:body|query|params|headers)(?:\/|$)/)
      assert.ok(typeof message === 'string' && message.length > 0)
    }
  }

  test('no route breaks, whatever it is sent', { timeout: 120_000 }, async (t) => {
    for (const operation of operations) {
      const seen = new Set<number>()
      await fc.assert(
        fc.asyncProperty(drafts(operation), async (draft) => {
          const earlier = await records()
          const answered = await send(operation, draft)
          seen.add(answered.status)
          check(operation, answered)
          if (answered.status >= 400)
            assert.deepEqual(await records(), earlier, 'a refused request left something')
          // What signs the caller out, or changes whom the next request speaks of.
          else if (operation.method !== 'GET')
            await (operation.path.startsWith('/auth') ? newPerson() : newDocument())
        }),
        { numRuns: RUNS_PER_ROUTE, reporter: report(operation.key) },
      )
      assert.equal((await app.request('GET', '/health')).status, 200)
      t.diagnostic(`${operation.key}: ${[...seen].toSorted().join(' ')}`)
      // Else the requests never got past the first check, and the test shows nothing.
      assert.ok(
        [...seen].some((status) => status < 400),
        `${operation.key} was never answered with a success`,
      )
    }
  })
})

/** A failure with its seed, without the pages of text that a hostile value may be. */
function report(key: string) {
  return (details: fc.RunDetails<[Draft]>): void => {
    if (!details.failed) return
    const message = fc.defaultReportMessage(details) ?? ''
    throw new Error(`${key}\n${message.replaceAll(/[^\s"]{200,}/g, (run) => `${run.slice(0, 100)}…`)}`, {
      cause: details.errorInstance,
    })
  }
}
