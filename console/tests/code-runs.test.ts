// What the API pane shows, run as it stands against a server: in the languages that are on this machine.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import type { SampleFields, SampleCall } from '../src/code/call.ts'
import { collectionCalls, exampleDocument, type SampleCollection } from '../src/code/collection-calls.ts'
import { describedRoutes, type DescribedRoute } from '../src/code/route-calls.ts'
import { startApp, type TestApp } from '../../server/src/testing/app.ts'
import { anyEngine, endOfSuite, temporaryFolder } from '../../server/src/testing/engines.ts'
import { codeOf, runners, startCode } from './code.fixture.ts'

const run = promisify(execFile)
const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const PIXELS =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQImWOQrc+Trc9jgFAAG+IEKZr+79gAAAAASUVORK5CYII='

const BOOKS: SampleCollection = {
  name: 'books',
  schema: {
    type: 'object',
    required: ['title', 'year', 'kind', 'author'],
    additionalProperties: false,
    properties: {
      title: { type: 'string', minLength: 1 },
      year: { type: 'integer', minimum: 1450 },
      kind: { enum: ['novel', 'poem'] },
      author: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      price: { type: ['number', 'null'], exclusiveMinimum: 0 },
      isbn: { type: 'string', pattern: '^[0-9-]{3,17}$' },
      cover: { type: 'string' },
    },
  },
  files: { cover: ['image/*'] },
  guarded: [],
  related: {},
}

/** Schemas of many kinds, of which an example has to be accepted. */
const SCHEMAS: Readonly<Record<string, object>> = {
  texts: {
    type: 'object',
    required: ['code', 'short', 'long', 'email', 'site', 'at', 'day', 'uuid'],
    properties: {
      code: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{3}$' },
      short: { type: 'string', maxLength: 2 },
      long: { type: 'string', minLength: 40 },
      email: { type: 'string', format: 'email' },
      site: { type: 'string', format: 'uri', maxLength: 60 },
      at: { type: 'string', format: 'date-time' },
      day: { type: 'string', format: 'date' },
      uuid: { type: 'string', format: 'uuid' },
    },
  },
  numbers: {
    type: 'object',
    required: ['a', 'b', 'c', 'd', 'e', 'f'],
    properties: {
      a: { type: 'integer', minimum: 100, maximum: 100 },
      b: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 },
      c: { type: 'integer', multipleOf: 7, minimum: 8 },
      d: { type: 'number', maximum: -3 },
      e: { type: ['null', 'integer'], minimum: 5 },
      f: { const: 3.5 },
    },
  },
  nested: {
    $defs: {
      line: {
        type: 'object',
        required: ['part', 'count'],
        properties: { part: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
      },
    },
    type: 'object',
    required: ['lines', 'tags', 'pair', 'either'],
    additionalProperties: false,
    properties: {
      lines: { type: 'array', minItems: 2, items: { $ref: '#/$defs/line' } },
      tags: { type: 'array', items: { enum: ['new', 'old'] }, minItems: 2, uniqueItems: true },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }], minItems: 2 },
      either: {
        anyOf: [{ type: 'null' }, { type: 'object', required: ['x'], properties: { x: { default: 4 } } }],
      },
      odd: { type: 'string', pattern: '^zz-[0-9]+$' },
    },
  },
  together: {
    allOf: [
      { type: 'object', required: ['a'], properties: { a: { type: 'boolean' } } },
      { required: ['b'], properties: { b: { examples: ['of the schema'], type: 'string' } } },
    ],
  },
  anything: { type: 'object' },
}

anyEngine((engine) => {
  describe('the code of the API pane', () => {
    const ending = endOfSuite()
    let app: TestApp
    let routes: readonly DescribedRoute[]
    let folder: string
    /** The first account is an administrator. */
    let admin: string
    before(async () => {
      const open = { read: 'user', create: 'user', update: 'user', delete: 'user' } as const
      app = await startApp(ending, engine, {
        sandbox: true,
        config: {
          store: {
            collections: {
              books: { ...open, schema: BOOKS.schema!, files: { cover: { types: ['image/*'] } } },
              reviews: {
                ...open,
                schema: { type: 'object', required: ['book'], properties: { book: { type: 'string' } } },
                relations: { book: { to: 'books' } },
              },
              ...Object.fromEntries(
                Object.entries(SCHEMAS).map(([name, schema]) => [name, { ...open, schema }]),
              ),
            },
          },
        },
      })
      routes = describedRoutes((await app.request('GET', '/openapi.json')).body, app.url)
      folder = await temporaryFolder(ending)
      admin = (await app.register()).token
    })

    /** A folder with the files that the texts name. */
    async function folderOf(name: string): Promise<string> {
      const own = join(folder, name)
      await mkdir(own)
      await writeFile(join(own, 'photo.jpg'), Buffer.from(PIXELS, 'base64'))
      await writeFile(join(own, 'notes.txt'), 'notes')
      return own
    }
    const routeOf = (key: string): SampleCall => {
      const route = routes.find(({ method, path }) => `${method} ${path}` === key)
      assert.ok(route?.call, key)
      return route.call
    }

    for (const runner of runners)
      test(`works with documents and files in ${runner.language}`, { skip: runner.skip }, async () => {
        const own = await folderOf(runner.language)
        const { token } = await app.register()
        const books = async (): Promise<(SampleFields & { _id: string })[]> =>
          (await app.request('GET', '/store/books?sort=_id&limit=1000', { token })).body.data
        const actionOf = (name: string, id = '') =>
          collectionCalls(app.url, BOOKS, id).find((one) => one.name === name)!.call
        const start = async (call: SampleCall) =>
          startCode(runner, await codeOf(runner.language, call), { folder: own, token })
        const answer = async (call: SampleCall) => (await start(call)).ended

        const before = new Set((await books()).map(({ _id }) => _id))
        assert.match(await answer(actionOf('create')), /A title/)
        const created = (await books()).find(({ _id }) => !before.has(_id))!
        const { _id } = created
        assert.partialDeepStrictEqual(created, {
          title: 'A title',
          year: 2027,
          kind: 'novel',
          author: { name: 'Ada Lovelace' },
          price: 10,
        })
        assert.match(await answer(actionOf('list')), new RegExp(_id))
        assert.match(await answer(actionOf('get', _id)), new RegExp(_id))
        await app.request('PUT', `/store/books/${_id}`, { token, body: { title: 'Another' } })
        assert.match(await answer(actionOf('change', _id)), /A title/)

        const following = await start(actionOf('follow'))
        await following.says(/ready/)
        await app.request('PUT', `/store/books/${_id}`, { token, body: { title: 'Followed' } })
        await following.says(/put[^]*Followed/)
        await following.kill()

        await answer(actionOf('delete', _id))
        assert.equal((await app.request('GET', `/store/books/${_id}`, { token })).status, 404)

        assert.match(await answer(actionOf('upload')), /A title/)
        const { cover } = (await books()).at(-1)!
        const file = await app.request('GET', `/store/files/${cover as string}`, { token })
        assert.partialDeepStrictEqual(file.body, {
          originalName: 'photo.jpg',
          size: Buffer.from(PIXELS, 'base64').length,
        })
        assert.match(await answer(routeOf('POST /store/upload')), /notes\.txt/)
      })

    for (const runner of runners)
      test(`signs in, pays and sends in ${runner.language}`, { skip: runner.skip }, async () => {
        const own = await folderOf(`${runner.language}-routes`)
        const { token, refreshToken, email } = await app.register()
        async function answer(key: string, changes: (call: SampleCall) => Partial<SampleCall> = () => ({})) {
          const call = routeOf(key)
          const text = await codeOf(runner.language, { ...call, ...changes(call) })
          return (await startCode(runner, text, { folder: own, token })).ended
        }
        /** The same call for another account, since an address is registered once. */
        const withEmail = (address: string) => (call: SampleCall) => ({
          body: { ...(call.body as SampleFields), email: address },
        })
        const address = `${runner.language}@example.com`
        assert.match(await answer('POST /auth/register', withEmail(address)), new RegExp(address))
        assert.match(await answer('POST /auth/login', withEmail(address)), new RegExp(address))
        assert.match(await answer('POST /auth/refresh', () => ({ body: { refreshToken } })), /refreshToken/)
        await answer('POST /auth/magic-link', withEmail(email))
        const { text: messages } = await app.request('GET', '/messaging/logs', { token: admin })
        assert.ok(messages.includes(email), messages)
        assert.match(await answer('POST /pay/cardpay/checkout'), /transactionId/)
        assert.match(await answer('POST /messaging/email'), /queued|sent/)
        if (runner.language === 'curl')
          assert.match(await answer('GET /auth/providers/:name'), /^http:\/\/\S+sandbox\S+\n$/)
      })

    test('compiles in TypeScript, of each route of the server and each call of a collection', async () => {
      const own = await folderOf('compiled')
      await symlink(PACKAGES, join(own, 'node_modules'))
      const calls = [
        ...routes.flatMap(({ id, call }) => (call ? [{ name: id, call }] : [])),
        ...collectionCalls(app.url, BOOKS, 'ID'),
      ]
      for (const { name, call } of calls) {
        if (call.answer === 'page') continue
        const text = await codeOf('typescript', call)
        await writeFile(join(own, `${name}.ts`), `${text}\nexport {}\n`)
      }
      await writeFile(join(own, 'package.json'), '{"type":"module"}')
      await writeFile(
        join(own, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            strict: true, noEmit: true, target: 'esnext', module: 'nodenext', lib: ['esnext', 'dom', 'dom.iterable'],
            types: ['node'], skipLibCheck: true, allowImportingTsExtensions: true, customConditions: ['sixwire-source'],
          },
          include: ['*.ts'],
        }),
      ) // prettier-ignore
      const tsc = join(PACKAGES, '.bin/tsc')
      const { stdout } = await run(process.execPath, [tsc, '-p', own]).catch(
        (error: unknown) => error as { stdout: string },
      )
      assert.equal(stdout, '')
    })

    test('creates documents that schemas of many kinds accept', async () => {
      const { token } = await app.register()
      for (const [name, schema] of Object.entries(SCHEMAS)) {
        const body = exampleDocument({ name, schema: schema as never, files: {}, guarded: [], related: {} })
        const created = await app.request('POST', `/store/${name}`, { token, body })
        assert.equal(created.status, 201, `${name} ${JSON.stringify(body)}: ${created.text}`)
      }
      const book = await app.request('POST', '/store/books', { token, body: exampleDocument(BOOKS) })
      const schema = { type: 'object', required: ['book'], properties: { book: { type: 'string' } } }
      const review = exampleDocument({
        name: 'reviews',
        schema,
        files: {},
        guarded: [],
        related: { book: book.body._id },
      })
      assert.equal((await app.request('POST', '/store/reviews', { token, body: review })).status, 201)
    })

    test('is short, and soon there, whatever the schema is', () => {
      const itself = { $ref: '#' }
      const fields = Array.from({ length: 10_000 }, (_, at) => `f${at}`)
      const all = (schema: object) => Object.fromEntries(fields.map((name) => [name, schema]))
      const hostile = {
        circular: { type: 'object', required: fields.slice(0, 50), properties: all(itself) },
        together: { allOf: Array.from({ length: 50 }, () => itself) },
        alone: itself,
        many: { type: 'object', required: fields, properties: all({ type: 'string' }) },
        optional: { type: 'object', properties: all({ type: 'string' }) },
        slow: {
          type: 'object',
          required: ['a'],
          properties: { a: { type: 'string', minLength: 900, pattern: '^(a+)+$' } },
        },
        long: {
          type: 'object',
          properties: { a: { type: 'array', minItems: 1e9, items: { type: 'string' } } },
        },
        nested: { type: 'array', minItems: 20, items: itself },
        inherited: { type: 'object', required: ['constructor', '__proto__'] },
        nothing: { anyOf: [false], items: 7, properties: { a: null } },
      }
      for (const [name, schema] of Object.entries(hostile)) {
        const document = exampleDocument({
          name,
          schema,
          files: {},
          guarded: [],
          related: {},
        })
        assert.ok(JSON.stringify(document).length < 100_000, name)
      }
    })

    test('takes the fields of the newest document where there is no schema, and cuts what is long', () => {
      const document = {
        _id: 'a',
        createdAt: 'b',
        updatedAt: 'c',
        $preview: {},
        n: [1, 2, 3, 4],
        text: 'x'.repeat(500),
      }
      assert.deepEqual(exampleDocument({ name: 'notes', files: {}, guarded: [], related: {}, document }), {
        n: [1, 2, 3],
        text: 'x'.repeat(80),
      })
    })
  })
})
