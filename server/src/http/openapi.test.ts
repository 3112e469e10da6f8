import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'

import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'

import { startApp, type TestAnswer, type TestApp } from '../testing/app.ts'
import { codesIn, resolved } from '../testing/description.ts'
import { someEngine, endOfSuite } from '../testing/engines.ts'
import { ACCESS } from './access.ts'
import { shop } from './openapi.fixture.ts'

type Schema = { type?: string; description?: string } & Record<string, unknown>
type Described = {
  description?: string
  operationId: string
  summary?: string
  tags: string[]
  security: Record<string, string[]>[]
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}
type Description = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers?: { url: string }[]
  tags: { name: string; description?: string }[]
  components: { schemas: Record<string, Schema>; responses: Record<string, object> }
  paths: Record<string, Record<string, Described>>
}

// POSTs that create nothing, send nothing and charge nothing: a repetition is harmless, or must not be answered from
// what was kept (a token is good for one use).
const NOT_IDEMPOTENT = [
  'POST /core/settings/versions/:version/restore',
  'POST /core/logs/faults/:id/resolve',
  'POST /core/jobs/retry',
  'POST /core/jobs/:id/retry',
  'POST /core/webhooks/:name/enable',
  'POST /core/webhooks/deliveries/:id/retry',
  'POST /messaging/templates/:name/preview',
  'POST /messaging/reports/:provider',
  'POST /messaging/twilio/status',
  'POST /messaging/email/bounce',
  'POST /onchain/contracts/read',
  'POST /auth/login',
  'POST /auth/logout',
  'POST /auth/refresh',
  'POST /auth/change-password',
  'POST /auth/passkeys/sign-in-options',
  'POST /auth/passkeys/sign-in',
  'POST /auth/passkeys/options',
  'POST /auth/passkeys',
  'POST /auth/totp',
  'POST /auth/totp/verify',
  'POST /auth/recovery-codes',
  'POST /auth/reset-password',
  'POST /auth/providers/:name/callback',
  'POST /auth/verify-magic-link',
  'POST /auth/verify-code',
  'POST /auth/phone/verify',
  'POST /auth/verify-email',
  'POST /auth/verify-email-change',
  'POST /auth/undo-email-change',
  'POST /auth/second-factor',
  'POST /auth/second-factor/passkey-options',
  'POST /auth/confirm',
  'POST /auth/confirm/passkey-options',
  'POST /auth/first-admin',
  'POST /auth/users/import',
  'POST /auth/users/:id/unlock',
  'POST /auth/users/:id/reset',
  'POST /auth/users/:id/invite',
  'POST /auth/users/:id/verify',
  'POST /auth/users/:id/impersonate',
  'POST /auth/keys',
  'POST /console/session',
  'POST /pay/cardpay/webhook',
  'POST /pay/walletpay/webhook',
  'POST /pay/events/:id/replay',
  'POST /store/upload-links',
  'POST /store/uploads',
  'POST /store/files/bulk',
  'POST /store/files/:id/link',
  'POST /store/collections/:name/can',
  'POST /store/:collection/query',
  'POST /store/:collection/import',
  'POST /store/backup/:id/restore',
]

// A stream that ends with its caller only: server/src/wires/core/request-log/logs.test.ts has it.
const ENDLESS = 'GET /core/logs/stream'

const pathOf = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')
/** The schemas of a body: more than one where a status is a reply of the route's own and a failure as well. */
function schemasOf(described: Described, status: number): Schema[] {
  const [content] = Object.values(described.responses[status]?.content ?? {})
  const schema = content?.schema
  return schema === undefined ? [] : ((schema['anyOf'] as Schema[] | undefined) ?? [schema])
}
const codesOf = (described: Described, status: number): string[] =>
  schemasOf(described, status).flatMap(codesIn)
// What an HTTP client or a browser sets itself, and what `security` describes.
const NOT_PARAMETERS = ['accept', 'authorization', 'cookie', 'host']

someEngine((engine) => {
  describe('/openapi.json', () => {
    let app: TestApp
    let published: Description
    /** The same, without references. */
    let description: Description
    const ending = endOfSuite()
    before(async () => {
      app = await startApp(ending, engine, {
        config: { name: 'shop', version: '3.2.1', policy: 'guarded', wires: [shop()] },
      })
      published = (await app.request('GET', '/openapi.json')).body
      description = resolved(published)
    })
    const described = (key: string): Described => {
      const [method = '', path = ''] = key.split(' ')
      const found = description.paths[pathOf(path)]?.[method.toLowerCase()]
      assert.ok(found, `${key} is not described`)
      return found
    }
    const everyRoute = () =>
      app.app.routes.flatMap(({ wire, routes }) => routes.map((one) => ({ wire, one })))

    test('is valid OpenAPI 3.1 and says whose it is', async () => {
      const { valid, errors } = await new Validator().validate(structuredClone(published))
      assert.ok(valid, JSON.stringify(errors, undefined, 1))
      assert.match(description.openapi, /^3\.1\./)
      assert.equal(description.info.title, 'shop')
      assert.equal(description.info.version, '3.2.1')
    })

    test('every route of every wire says who may call it, what it is for and what it answers', () => {
      assert.deepEqual(
        [...new Set(everyRoute().map(({ wire }) => wire))],
        ['core', 'messaging', 'onchain', 'auth', 'pay', 'store', 'shop'],
      )
      for (const { one } of everyRoute()) {
        const { access, summary, reply } = one.spec
        assert.ok(ACCESS.includes(access), `${one.key}: access`)
        assert.match(summary, /^\S.{3,}\S$/, `${one.key}: summary`)
        assert.doesNotMatch(summary, /\.$/, `${one.key}: a summary is no sentence`)
        const statuses = Object.keys(reply).map(Number)
        assert.ok(statuses.length > 0 && statuses[0]! < 400, `${one.key}: what it answers when all is well`)
      }
    })

    test('every POST that creates takes an Idempotency-Key', () => {
      const without = everyRoute().flatMap(({ one }) =>
        one.method === 'POST' && !one.spec.idempotent ? [one.key] : [],
      )
      assert.deepEqual(without, NOT_IDEMPOTENT)
    })

    test('describes exactly the routes that there are', () => {
      const keys = everyRoute().map(({ one }) => `${one.method} ${pathOf(one.path)}`)
      const found = Object.entries(description.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      )
      assert.deepEqual(found.toSorted(), keys.toSorted())
    })

    test('says of each route whether one must be signed in, what it takes and what may go wrong', () => {
      for (const { wire, one } of everyRoute()) {
        const { spec, key } = one
        const it = described(key)
        const names = (schema: unknown) => Object.keys((schema as Schema | undefined)?.['properties'] ?? {})
        assert.equal(it.summary, spec.summary, key)
        assert.deepEqual(it.tags, [wire], key)
        const scopes =
          spec.scope && `A service key needs one of the scopes \`*\`, \`${wire}\` and \`${spec.scope}\`.`
        const text = [spec.description, scopes].filter((part) => part !== undefined).join('\n\n')
        assert.equal(it.description ?? '', text, key)
        const bearer = [{ bearer: [] }]
        const readsToken = names(spec.headers).includes('authorization')
        const security =
          { public: readsToken ? [{}, ...bearer] : [], optional: [{}, ...bearer] }[spec.access as string] ??
          bearer
        assert.deepEqual(it.security, security, key)
        for (const status of Object.keys(spec.reply)) assert.ok(it.responses[status], `${key} ${status}`)
        const expected: [boolean, number, string][] = [
          [true, 500, 'INTERNAL_ERROR'],
          [true, 503, 'UNAVAILABLE'],
          [spec.access !== 'public', 401, 'UNAUTHORIZED'],
          [spec.access !== 'public', 403, 'FORBIDDEN'],
          [spec.limit !== undefined, 429, 'RATE_LIMITED'],
          [spec.idempotent === true, 409, 'IDEMPOTENCY_CONFLICT'],
          [spec.body !== undefined, 400, 'VALIDATION_ERROR'],
          [spec.body !== undefined, 413, 'PAYLOAD_TOO_LARGE'],
          [spec.body !== undefined, 415, 'UNSUPPORTED_MEDIA_TYPE'],
          [spec.query !== undefined || spec.params !== undefined, 400, 'VALIDATION_ERROR'],
          ...(spec.errors ?? []).map(({ status, code }): [boolean, number, string] => [true, status, code]),
        ]
        for (const [isExpected, status, code] of expected) {
          if (isExpected) assert.ok(codesOf(it, status).includes(code), `${key} does not say ${code}`)
        }
        const parameters = (it.parameters ?? []).map((p) => `${p.in} ${p.name}`).toSorted()
        assert.deepEqual(
          parameters,
          [
            ...names(spec.params).map((name) => `path ${name}`),
            ...names(spec.query).map((name) => `query ${name}`),
            ...names(spec.headers)
              .filter((name) => !NOT_PARAMETERS.includes(name))
              .map((name) => `header ${name}`),
            ...(spec.idempotent ? ['header idempotency-key'] : []),
          ].toSorted(),
          key,
        )
        for (const { name, required, schema } of (it.parameters ?? []).filter((p) => p.in === 'query'))
          assert.ok(!(required && Object.hasOwn(schema, 'default')), `${key} does without ${name}`)
        assert.equal(it.requestBody !== undefined, spec.body !== undefined, key)
        if (spec.body) assert.equal(it.requestBody?.required, spec.body.kind !== 'stream', key)
      }
    })

    test('every kind of body says how it is sent', () => {
      const contentOf = (key: string) => described(key).requestBody?.content
      const bytes = { type: 'string', format: 'binary' }
      assert.deepEqual(contentOf('PUT /shop/hook'), { '*/*': { schema: bytes } })
      assert.deepEqual(contentOf('PUT /shop/events'), {
        'application/json': { schema: {} },
        'image/png': { schema: bytes },
      })
      assert.deepEqual(Object.keys(contentOf('PUT /shop/login-form')!), ['application/x-www-form-urlencoded'])
      assert.deepEqual(contentOf('PUT /shop/pictures'), {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: ['alt', 'picture'],
            properties: {
              alt: { type: 'string' },
              more: { type: 'object', properties: {} },
              picture: bytes,
            },
          },
        },
      })
    })

    test('several files are a list, and files with JSON are parts beside it', () => {
      const bytes = { type: 'string', format: 'binary' }
      const schemaOf = (key: string, type: string) =>
        described(key).requestBody?.content[type]?.schema as Record<string, unknown>
      assert.deepEqual(schemaOf('PUT /shop/album', 'multipart/form-data')['properties'], {
        file: { type: 'array', items: bytes, maxItems: 3 },
      })
      const { required, properties, additionalProperties } = schemaOf('PUT /shop/card', 'multipart/form-data')
      assert.deepEqual(
        [required, properties, (additionalProperties as Record<string, unknown>)['format']],
        [['_json'], { _json: schemaOf('PUT /shop/card', 'application/json') }, 'binary'],
      )
    })

    test('every operation has an id, made of its method and path', () => {
      const ids = Object.values(description.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      )
      for (const id of ids) assert.match(id, /^[a-zA-Z][a-zA-Z0-9]*$/)
      assert.equal(new Set(ids).size, ids.length)
      for (const [key, id] of [
        ['POST /auth/login', 'authLogin'],
        ['GET /auth/me', 'getAuthMe'],
        ['POST /store/:collection', 'postStoreByCollection'],
        ['PATCH /auth/me', 'patchAuthMe'],
        ['DELETE /auth/sessions/:id', 'deleteAuthSessionsById'],
        ['GET /.well-known/jwks.json', 'getWellKnownJwksJson'],
        ['GET /store/:collection/:id', 'getStoreByCollectionById'],
        ['PATCH /shop/items/:item/parts/:part', 'patchShopItemsByItemPartsByPart'],
        ['GET /shop/label', 'getShopLabel'],
        ['GET /shop-label', 'getShopLabel2'],
      ])
        assert.equal(described(key!).operationId, id)
    })

    test('every wire says what it is for', () => {
      assert.deepEqual(
        published.tags.map(({ name }) => name),
        ['core', 'messaging', 'onchain', 'auth', 'pay', 'store', 'shop'],
      )
      for (const { name, description } of published.tags) assert.match(description ?? '', /^[A-Z].*\.$/, name)
      assert.equal(published.tags.at(-1)!.description, 'Items and their parts.')
    })

    test('schemas with a title are described once, under their names', () => {
      const { schemas } = published.components
      for (const name of ['Document', 'LogEntry', 'Part', 'Registration', 'Session', 'User'])
        assert.equal(schemas[name]?.type, 'object', name)
      // Go's generator makes a function New… of each one.
      for (const name of Object.keys(schemas)) assert.ok(!(`New${name}` in schemas), `New${name}`)
      const schemaOf = (path: string, method: string, status: string) =>
        Object.values(published.paths[path]![method]!.responses[status]!.content!)[0]!.schema
      const part = schemaOf('/shop/items/{item}/parts/{part}', 'patch', '200')
      assert.deepEqual(part, { $ref: '#/components/schemas/Part' })
      const number = published.paths['/shop/items/{item}/parts/{part}']!['patch']!.parameters![1]!
      assert.deepEqual(number.schema, { $ref: '#/components/schemas/PartNumber' })
      assert.deepEqual(schemas['PartNumber'], { type: 'integer', description: 'From 1.', examples: [7] })
      const registration = schemaOf('/auth/register', 'post', '201')
      assert.deepEqual(registration, { $ref: '#/components/schemas/Registration' })
      const { user } = schemas['Registration']!['properties'] as Record<string, Schema>
      assert.deepEqual(user, { $ref: '#/components/schemas/User' })
    })

    test('fields say which format they have', () => {
      const register = Object.values(described('POST /auth/register').requestBody!.content)[0]!.schema
      const { email, password } = register['properties'] as Record<string, Schema>
      assert.deepEqual([email!['format'], password!['format']], ['email', 'password'])
      const { createdAt } = published.components.schemas['Document']!['properties'] as Record<string, Schema>
      assert.equal(createdAt!['format'], 'date-time')
    })

    test('an enumeration says its type and values', () => {
      const { role } = published.components.schemas['Me']!['properties'] as Record<string, Schema>
      assert.deepEqual(role, { type: 'string', enum: ['user', 'viewer', 'admin'] })
      const status = described('GET /messaging/logs').parameters!.find(({ name }) => name === 'status')!
      assert.deepEqual(status.schema, {
        type: 'string',
        enum: ['queued', 'sending', 'sent', 'failed', 'delivered', 'bounced'],
      })
    })

    test('is not sent again to a client that has it', async () => {
      const first = await app.request('GET', '/openapi.json')
      const etag = first.headers.get('etag')!
      assert.match(etag, /^"[\w-]+"$/)
      for (const sent of [etag, `"other", W/${etag}`, '*']) {
        const again = await app.request('GET', '/openapi.json', { headers: { 'if-none-match': sent } })
        assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag], sent)
      }
      const other = await app.request('GET', '/openapi.json', { headers: { 'if-none-match': '"other"' } })
      assert.deepEqual([other.status, other.text], [200, first.text])
    })

    test('is made once, and not for each call', async (t) => {
      assert.equal((await app.request('GET', '/openapi.json')).status, 200)
      const writing = t.mock.method(JSON, 'stringify')
      assert.equal((await app.request('GET', '/openapi.json')).status, 200)
      const large = writing.mock.calls.filter(({ result }) => String(result).includes('"openapi":"3.1.0"'))
      assert.equal(large.length, 0)
    })

    test('of an answer that is text it says so', () => {
      for (const key of ['GET /shop/label', 'GET /metrics'])
        assert.deepEqual(Object.keys(described(key).responses['200']!.content!), ['text/plain'], key)
      const { content } = described('GET /store/:collection/export').responses['200']!
      assert.deepEqual(Object.keys(content!), ['application/x-ndjson', 'text/csv'])
    })

    test('a status that is both an answer of the route and a failure is described as either', () => {
      const it = described('GET /health')
      const [health, failure] = schemasOf(it, 503)
      assert.ok(Object.hasOwn(health!['properties'] as object, 'wires'))
      assert.deepEqual(codesIn(failure), ['UNAVAILABLE'])
      assert.equal(it.responses['200']!.description, 'OK')
      assert.match(it.responses['503']!.description, /^Service Unavailable\n\n.*`UNAVAILABLE`: /s)
    })

    describe('whatever is sent, the answer is one that the description has', () => {
      const ajv = new Ajv({ strict: false, validateFormats: false })
      // Most errors of most routes have the same schema, and compiling one takes longer than a request.
      const validators = new Map<string, ReturnType<typeof ajv.compile>>()
      const validatorOf = (schema: object) =>
        validators.getOrInsertComputed(JSON.stringify(schema), () => ajv.compile(schema))
      const assertDescribed = (key: string, what: string, { status, headers, body, text }: TestAnswer) => {
        const it = described(key)
        const at = `${key}, ${what}: ${status} ${text.slice(0, 200)}`
        const found = it.responses[status]
        assert.ok(found, at)
        const type = headers.get('content-type')!.split(';')[0]!
        const schema = (found.content?.[type] ?? found.content?.['*/*'])?.schema
        assert.ok(schema, `${at} (${type})`)
        if (type === 'application/json') {
          const isValid = validatorOf(schema)
          assert.ok(isValid(body), `${at}\n${ajv.errorsText(isValid.errors)}`)
        }
        return status
      }

      test('by anybody', async () => {
        const { keys } = app.app.service('auth')
        const strangeKey = (await keys.create('strange', ['auth:read'])).key
        const readKey = (await keys.create('reader', ['shop:read', 'core:read', 'store:read'])).key
        const nobody = 'a'.repeat(26)
        const tooMuch = JSON.stringify({ a: 'x'.repeat(1_100_000) })
        // What is refused for its address ends no session; each route has another account for what may.
        const { token: second } = await app.register()
        const seen = new Set<number>()
        for (const { one } of everyRoute()) {
          const { key, method, spec } = one
          if (key === ENDLESS) continue
          const { token } = await app.register()
          const path = one.path.replaceAll(/:(\w+)/g, (_, name: string) =>
            name === 'collection' ? 'things' : name === 'part' ? '1' : nobody,
          )
          const takesBody = method !== 'GET'
          const json = takesBody ? { body: {} } : {}
          const attempts: Record<string, Parameters<TestApp['request']>[2]> = {
            nothing: {},
            'a token that is none': { token: 'nonsense', ...json },
            'a header that is none': { headers: { authorization: 'Basic x' }, ...json },
            'a key without the scope': { token: strangeKey, ...json },
            'a key that may read': { token: readKey, ...json },
            ...(takesBody && {
              'not JSON': { token, raw: '{' },
              'another type': { token, raw: '{}', headers: { 'content-type': 'text/plain' } },
              'too much': { token, raw: tooMuch },
            }),
            'a bad If-Match': { token, ...json, headers: { 'if-match': 'nonsense' } },
            'an old If-Match': { token, ...json, headers: { 'if-match': '"1"' } },
            'a bad Idempotency-Key': { token, ...json, headers: { 'idempotency-key': 'a b' } },
            'one Idempotency-Key': { token, ...json, headers: { 'idempotency-key': 'one' } },
            'the same again': { token, body: { other: 1 }, headers: { 'idempotency-key': 'one' } },
            'an empty body': { token, ...json },
          }
          for (const [what, options] of Object.entries(attempts))
            if (takesBody || options?.body === undefined)
              seen.add(assertDescribed(key, what, await app.request(method, path, options)))
          if (spec.query)
            for (const query of ['limit=0', 'limit=x', 'offset=-1', 'sort=%00', 'filter=%7B', 'soon=perhaps'])
              seen.add(
                assertDescribed(
                  key,
                  query,
                  await app.request(method, `${path}?${query}`, { token: second, ...json }),
                ),
              )
          if (one.path.includes(':'))
            for (const bad of ['%00', '-', 'x'.repeat(400)])
              seen.add(
                assertDescribed(
                  key,
                  bad,
                  await app.request(method, one.path.replaceAll(/:\w+/g, bad), { token: second, ...json }),
                ),
              )
        }
        assert.equal((await app.request('GET', '/auth/me', { token: second })).status, 200)
        assert.deepEqual(
          [...seen].toSorted((a, b) => a - b),
          [200, 201, 202, 400, 401, 403, 404, 409, 413, 415],
        )
      })

      test('by somebody who does it well', async () => {
        const admin = await app.register()
        await app.app.service('auth').users.promote(admin.email)
        const { token } = (
          await app.request('POST', '/auth/login', { body: { email: admin.email, password: admin.password } })
        ).body
        const call = async (key: string, path: string, options: Parameters<TestApp['request']>[2]) => {
          const answered = await app.request(key.split(' ')[0]!, path, { token, ...options })
          const status = assertDescribed(key, 'done well', answered)
          assert.ok(status < 300, `${key}: ${answered.text}`)
          return answered.body
        }
        const made = await call('POST /store/:collection', '/store/books', {
          body: { title: 'Momo', n: [1, {}] },
        })
        await call('GET /store/:collection', '/store/books?limit=1&sort=-title', {})
        await call('GET /store/:collection/:id', `/store/books/${made._id}`, {})
        await call('PUT /store/:collection/:id', `/store/books/${made._id}`, { body: { title: null } })
        await call('DELETE /store/:collection/:id', `/store/books/${made._id}`, {})
        await call('PATCH /shop/items/:item/parts/:part', '/shop/items/a%2Fb/parts/7?soon=true', {
          body: { name: 'x' },
        })
        await call('GET /shop/label', '/shop/label', {})
        for (const path of [
          '/auth/me',
          '/auth/sessions',
          '/auth/health',
          '/.well-known/jwks.json',
          '/health',
        ])
          await call(`GET ${path}`, path, {})
        for (const path of ['/ready', '/info', '/metrics', '/store/health'])
          await call(`GET ${path}`, path, {})
        const sessions = (await app.request('GET', '/auth/sessions', { token })).body.sessions
        const other = sessions.find((one: { current: boolean }) => !one.current)
        await call('DELETE /auth/sessions/:id', `/auth/sessions/${other._id}`, {})
        const body = { email: admin.email, password: admin.password }
        const { refreshToken } = await call('POST /auth/login', '/auth/login', { body })
        await call('POST /auth/refresh', '/auth/refresh', { body: { refreshToken } })
        await call('POST /auth/register', '/auth/register', { body: { ...body, email: 'new@example.com' } })
        await call('POST /auth/change-password', '/auth/change-password', {
          body: { currentPassword: admin.password, newPassword: 'another passphrase' },
        })
        await call('POST /auth/logout', '/auth/logout', {})
      })
    })

    test('other methods of its own addresses are refused in the envelope', async () => {
      for (const path of ['/openapi.json', '/docs']) {
        const { status, body, headers } = await app.request('POST', path, { body: {} })
        assert.equal(status, 405, path)
        assert.equal(body.error.code, 'METHOD_NOT_ALLOWED')
        assert.equal(headers.get('allow'), 'GET, HEAD, OPTIONS')
      }
    })
  })
})
