import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { Type } from '../../base/schema.ts'
import { json, multipart, raw, stream } from '../../http/bodies.ts'
import { route } from '../../http/route.ts'
import { assemble, refused } from '../../testing/assemble.ts'
import { defineWire, type ConfiguredWire } from './wire.ts'

describe('a wire that is defined wrongly stops the start with one line', () => {
  const SPEC = { summary: 'Greet', access: 'public', reply: { 200: Type.Object({}) } }
  const Route = route as unknown as (...given: unknown[]) => unknown
  const shopOf = (definition: object) =>
    (defineWire as (given: object) => () => ConfiguredWire)({ name: 'shop', ...definition })()
  const running = (given: unknown) => ({ setup: () => given })
  const answers = (...routes: unknown[]) => running({ routes, service: undefined })
  const spec = (fields: object, key = 'POST /hello') =>
    answers(Route(key, { ...SPEC, ...fields }, () => ({})))
  const keyed = (key: string) => spec({}, key)

  for (const [what, definition, line] of [
    [
      'no access',
      spec({ access: undefined }),
      /access is missing: it takes one of public, optional, session, user, admin, operator$/,
    ],
    [
      'an access that does not exist',
      spec({ access: 'admn' }),
      /^wires: shop: POST \/hello: access can't be "admn": .*: did you mean admin\?$/,
    ],
    ['the access of another object', spec({ access: 'constructor' }), /: access can't be "constructor"/],
    [
      'a field that does not exist',
      spec({ acces: 'admin' }),
      /^wires: shop: POST \/hello: there is no field "acces": did you mean access\?$/,
    ],
    [
      'a limit that can not be read',
      spec({ limit: '30/m' }),
      /: limit can't be "30\/m": it takes .* like 30\/min or 5\/hour$/,
    ],
    [
      'a scope of another wire',
      spec({ access: 'user', scope: 'pay:refund' }),
      /^wires: shop: POST \/hello: scope can't be "pay:refund": it takes the wire's name and a word other than read, like "shop:refund"$/,
    ],
    [
      'a scope that all GET routes have',
      spec({ access: 'user', scope: 'shop:read' }),
      /scope can't be "shop:read"/,
    ],
    ['a scope without a word', spec({ access: 'user', scope: 'shop' }), /scope can't be "shop"/],
    [
      'a scope that is longer than a word',
      spec({ access: 'user', scope: 'shop:a b' }),
      /scope can't be "shop:a b"/,
    ],
    [
      'a scope of a public route',
      spec({ scope: 'shop:refund' }),
      /POST \/hello: access "public" takes no service keys: leave out scope$/,
    ],
    [
      'what is irreversible without the access of administrators',
      spec({ access: 'user', irreversible: true }),
      /POST \/hello: irreversible has no effect with access "user": write access: 'admin'$/,
    ],
    ['no summary', spec({ summary: undefined }), /: summary is missing/],
    ['no reply', spec({ reply: undefined }), /: reply is missing: .*\{ 200: /],
    ['a reply without its status', spec({ reply: Type.Object({}) }), /: reply can't be this object/],
    [
      'a reply that is no schema',
      spec({ reply: { 200: { type: 'objekt' } } }),
      /^wires: shop: POST \/hello: reply 200: schema is invalid: /,
    ],
    [
      'a reply that refers to nothing',
      spec({ reply: { 200: { type: 'object', properties: { a: { $ref: '#/definitions/none' } } } } }),
      /^wires: shop: POST \/hello: reply 200: can't resolve reference #\/definitions\/none/,
    ],
    [
      'a pattern that is none',
      spec({ body: json(Type.Object({ a: Type.String({ pattern: '(' }) })) }),
      /^wires: shop: POST \/hello: body: .*\(/,
    ],
    [
      'a keyword that does not exist',
      spec({ body: json(Type.Object({ a: Type.Unsafe({ type: 'string', minLenght: 3 }) })) }),
      /: body: strict mode: unknown keyword: "minLenght"/,
    ],
    ['no status at all', spec({ reply: {} }), /: reply can't be/],
    [
      'an Idempotency-Key with a streamed body',
      spec({ idempotent: true, body: stream({ maxBytes: 1, contentTypes: ['a/b'] }) }),
      /POST \/hello: a streamed body cannot be compared with an earlier one: leave out idempotent$/,
    ],
    ['headers that are no texts', spec({ answerHeaders: { 'x-a': 1 } }), /: answerHeaders can't be/],
    ['a body that is text', spec({ body: 'x' }), /: body can't be "x": it takes json\(Type\.Object/],
    ['a body of fields alone', spec({ body: { name: Type.String() } }), /: body can't be this object/],
    [
      'a body that does not say how it is sent',
      spec({ body: Type.Object({ name: Type.String() }) }),
      /^wires: shop: POST \/hello: body says what it holds, but not how it is sent: write json\(Type\.Object\(\{ … \}\)\)$/,
    ],
    [
      'a JSON body that is no schema',
      spec({ body: { kind: 'json', schema: { name: Type.String() } } }),
      /^wires: shop: POST \/hello: body: schema can't be this object: it takes a schema/,
    ],
    [
      'a kind of body that does not exist',
      spec({ body: { kind: 'toString' } }),
      /: body can't be this object: it takes json/,
    ],
    [
      'a raw body without a limit',
      spec({ body: { kind: 'raw' } }),
      /: body: maxBytes is missing: it takes a whole number of bytes/,
    ],
    [
      'a media type with parameters',
      spec({ body: raw({ maxBytes: 9, contentTypes: ['text/plain; charset=utf-8'] }) }),
      /: body: contentTypes can't be this list: it takes a list of media types in lower case/,
    ],
    [
      'a field of a body that does not exist',
      spec({ body: { ...raw({ maxBytes: 9 }), contentType: ['text/plain'] } }),
      /: body: there is no field "contentType": did you mean contentTypes\?$/,
    ],
    [
      'a body that may take two days to arrive',
      spec({ body: json(Type.Object({}), { receiveMs: 2 * 24 * 3_600_000 }) }),
      /: body: receiveMs can't be 172800000: it takes .* \(24 hours\)$/,
    ],
    [
      'a file without a limit',
      spec({
        body: { ...multipart({ file: { maxBytes: 9 } }), file: { field: 'file', max: 1, required: true } },
      }),
      /: body: file: maxBytes is missing: /,
    ],
    [
      'JSON with any number of files',
      spec({
        body: { ...json(Type.Object({}), { files: { max: 9, maxBytes: 9 } }), files: { maxBytes: 9 } },
      }),
      /: body: files: max is missing: /,
    ],
    [
      'a file that is a field as well',
      spec({ body: multipart({ file: { maxBytes: 9 }, fields: Type.Object({ file: Type.String() }) }) }),
      /: body: "file" is the file and can't be one of fields: rename one$/,
    ],
    [
      'a limit of no period',
      spec({ limit: '30' }),
      /: limit can't be "30": it takes calls a minute or an hour, /,
    ],
    [
      'a limit without a rate',
      spec({ limit: { name: 'both' } }),
      /: limit: rate is missing: it takes calls a /,
    ],
    [
      'a field that a limit does not have',
      spec({ limit: { rate: '30/min', shared: 'both' } }),
      /: limit: there is no field "shared"/,
    ],
    ['a field of limits of the version before', spec({ limitKeys: true }), /: there is no field "limitKeys"/],
    [
      'limits that are counted together and differ',
      answers(
        Route('GET /one', { ...SPEC, limit: { rate: '30/min', name: 'both' } }, () => ({})),
        Route('GET /two', { ...SPEC, limit: { rate: '60/min', name: 'both' } }, () => ({})),
      ),
      /^wires: GET \/two of shop counts together with GET \/one as "both": their limits must be equal$/,
    ],
    ['a query that is no object', spec({ query: Type.String() }), /: query can't be this object/],
    [
      'parameters that the path does not have',
      spec({ params: Type.Object({ nmae: Type.String() }) }, 'GET /x/:name'),
      /: the path has no ":nmae": did you mean name\?$/,
    ],
    ['a body of a GET', spec({ body: json(Type.Object({})) }, 'GET /hello'), /: a GET has no body/],
    ['errors that are of no table', spec({ errors: ['not_found'] }), /: errors can't be this list/],
    [
      'no handler',
      answers(Route('GET /hello', SPEC)),
      /^wires: shop: GET \/hello: the handler, .* must be a function$/,
    ],
    ['no spec', answers(Route('GET /hello')), /^wires: shop: GET \/hello: the second argument/],
    ['a route that is none', answers('GET /hello'), /^wires: shop: one of its routes is not made by route/],
    [
      'a route with another path than its key',
      answers({ ...(Route('GET /hello', SPEC, () => ({})) as object), path: '/admin' }),
      /^wires: shop: "GET \/hello": its method and path are "GET \/admin": make it by route\('GET \/hello', /,
    ],
    [
      'a route with another method than its key',
      answers({ ...(Route('GET /hello', SPEC, () => ({})) as object), method: 'POST' }),
      /^wires: shop: "GET \/hello": its method and path are "POST \/hello": /,
    ],
    [
      'a route without its method and path',
      answers({ key: 'GET /hello', spec: SPEC, handle: () => ({}) }),
      /^wires: shop: "GET \/hello": its method and path are "undefined undefined": /,
    ],
    [
      'a replay of less than no time',
      spec({ idempotent: { seconds: -5, isCurrent: () => true } }),
      /: idempotent can't be this object: it takes .* seconds above 0$/,
    ],
    [
      'a body of no bytes',
      spec({ body: json(Type.Object({}), { maxBytes: 0 }) }),
      /: body: maxBytes can't be 0: it takes a whole number of bytes from 1 to 1073741824 \(1 GiB\)$/,
    ],
    [
      'a body that no memory holds',
      spec({ body: raw({ maxBytes: 1e12 }) }),
      /: body: maxBytes can't be 1000000000000: /,
    ],
    [
      'bodies of a wire that no memory holds',
      running({ routes: [], service: undefined, bodyLimit: 1024 ** 3 + 1 }),
      /^wires: shop: setup: bodyLimit can't be 1073741825: /,
    ],
    [
      'a key without its slash',
      keyed('GET hello'),
      /^wires: shop: "GET hello": the path must begin with "\/"$/,
    ],
    ['a key without a method', keyed('/hello'), /: a route is named by its method, one space and its path/],
    ['a key with two spaces', keyed('GET  /hello'), /: a route is named by/],
    [
      'a method in small letters',
      keyed('get /hello'),
      /: the method must be one of GET, .*: did you mean GET\?$/,
    ],
    ['a method that is none', keyed('FETCH /hello'), /: the method must be one of .*DELETE$/],
    ['a key with a query', keyed('GET /hello?x=1'), /: the path must end before the "\?"/],
    ['a parameter without a name', keyed('GET /hello/:'), /: a ":" in the path must be followed by a name/],
    ['a parameter twice', keyed('GET /:a/:a'), /: two parameters of the path have the same name$/],
    ['a wildcard in the middle', keyed('GET /*/x'), /: a "\*" must be the last character/],
    ['a path of the sandbox', keyed('GET /sandbox/x'), /: the paths below \/docs and \/sandbox are taken$/],
    [
      'a path that the engine refuses',
      keyed('GET /x/:a('),
      /^wires: Invalid regexp expression in "\/x\/:a\("$/,
    ],
    ['a setup that returns nothing', running(undefined), /^wires: shop: setup must return an object like/],
    ['a setup without routes', running({}), /^wires: shop: setup: routes is missing/],
    [
      'a check of its health that is misspelt',
      running({ routes: [], helth: () => 1 }),
      /^wires: shop: setup: there is no field "helth": did you mean health\?$/,
    ],
    [
      'a close that is no function',
      running({ routes: [], close: true }),
      /^wires: shop: setup: close can't be true/,
    ],
    [
      'a need that no wire has',
      { ...running({ routes: [] }), needs: [{ wireName: 'stoer', isOptional: false }] },
      /which is not loaded: did you mean store\?$/,
    ],
    [
      'the name of the sandbox',
      { ...running({ routes: [] }), name: 'sandbox' },
      /^wires: "sandbox" can't be a name/,
    ],
    [
      'a name that the context of every wire has',
      { ...running({ routes: [] }), name: 'record' },
      /^wires: "record" can't be a name/,
    ],
    [
      'a definition that is misspelt',
      { ...running({ routes: [] }), migration: new URL('file:///x/') },
      /^defineWire\(shop\): there is no field "migration": did you mean migrations\?$/,
    ],
    [
      'migrations that are no URL',
      { ...running({ routes: [] }), migrations: './migrations/' },
      /^defineWire\(shop\): migrations can't be "\.\/migrations\/": it takes the file: URL/,
    ],
    [
      'migrations elsewhere',
      { ...running({ routes: [] }), migrations: new URL('https://x.example/') },
      /^defineWire\(shop\): migrations can't be https:/,
    ],
    [
      'needs that are names',
      { ...running({ routes: [] }), needs: ['auth'] },
      /^defineWire\(shop\): needs can't be this list/,
    ],
    [
      'options that are no schema',
      { ...running({ routes: [] }), options: { key: 'x' } },
      /^defineWire\(shop\): options can't be this object/,
    ],
    ['no setup', {}, /^defineWire\(shop\): setup is missing/],
  ] as const)
    test(`for ${what}`, async (t) => {
      await refused(t, line, () => ({ config: { wires: [shopOf(definition)] } }))
    })

  test('but not for a keyword of its own, or one that says nothing of a type', async (t) => {
    const body = Type.Object({
      day: Type.Unsafe<string>({ format: 'date' }),
      note: Type.Unsafe<string>({ type: 'string', 'x-hint': 'short' }),
      rest: Type.Array(Type.Unknown()),
    })
    const app = await assemble(t, { config: { wires: [shopOf(spec({ body: json(body) }))] } })
    assert.ok(app.routes.some(({ wire }) => wire === 'shop'))
  })

  test('for a folder of migrations that is not there, or is none', async (t) => {
    for (const [path, line] of [
      ['./nope/', /^StartError: shop: the folder of its migrations, .*\/nope\/, does not exist$/],
      ['./wire.ts', /^StartError: shop: the folder of its migrations, .*\/wire\.ts, can't be read: ENOTDIR/],
    ] as const) {
      const shop = shopOf({ ...running({ routes: [] }), migrations: new URL(path, import.meta.url) })
      const app = await assemble(t, { config: { wires: [shop] } })
      await assert.rejects(app.start(), line)
    }
  })

  test('takes schemas of the package typebox', async (t) => {
    const { Type: Box } = await import('typebox')
    const Name = Box.Union([Box.String(), Box.Array(Box.Literal('x')), Box.Null(), Box.Unknown()])
    const body = Box.Object({ name: Box.Optional(Name), more: Box.Record(Box.String(), Box.Integer()) })
    const reply = {
      200: Box.Unsafe({}),
      201: Box.Unknown({ description: 'Anything' }),
      202: Box.Tuple([Name]),
    }
    await assemble(t, { config: { wires: [shopOf(spec({ body: json(body as never), reply }))] } })
  })
})

describe('what is no wire in the list of wires stops the start with one line', () => {
  const greetings = defineWire({ name: 'greetings', setup: () => ({ routes: [], service: undefined }) })
  const shopWire = () => greetings()
  for (const [what, wires, line] of [
    [
      'a wire without its parentheses',
      [greetings],
      /^wires: greetings lacks its parentheses: write greetings\(\), not greetings$/,
    ],
    ['a function that makes one', [shopWire], /^wires: shopWire lacks its parentheses: write shopWire\(\)/],
    ['a function without a name', [() => greetings()], /^wires: one of them is a function without a name/],
    ['an object of another kind', [{ name: 'greetings' }], /^wires: one of them is not made by defineWire$/],
    ['a wire alone', greetings(), /^wires: write a list/],
  ] as const)
    test(what, (t) => refused(t, line, { config: { wires: wires as never } }))
})
