import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from './errors.ts'
import { decodeUtf8, parseJson, parseStrictJson } from './json.ts'
import { anyText } from '../testing/any-text.ts'

const MEBIBYTE = 1 << 20

/** The fault's path and message. Fails where nothing, or anything but one validation issue, is thrown. */
function refusal(act: () => unknown): { path: string; message: string } {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.code, 'VALIDATION_ERROR')
    assert.equal(error.status, 400)
    const issues = error.details?.['issues'] as { path: string; message: string }[]
    assert.equal(issues.length, 1)
    return issues[0]!
  }
  assert.fail('nothing was refused')
}

const faults: [text: string, path: string, message: RegExp][] = [
  ['', '/body', /empty/],
  [' \n', '/body', /empty/],
  ['{', '/body', /not JSON: see line 1 column 2, where the end is not expected\.$/],
  ['{"a":1,\n}', '/body', /line 2 column 1, where "}" is not expected/],
  ['{"a":"[,", "b": lamp}', '/body', /line 1 column 17, where "l" is/],
  ['{"a":[1,2,[]],"b":,}', '/body', /line 1 column 19, where "," is/],
  ['{"a":1} x', '/body', /not JSON: see line 1 column 9/],
  ["{'a':1}", '/body', /not JSON/],
  ['[1,]', '/body', /line 1 column 4, where "]" is/],
  ['NaN', '/body', /line 1 column 1, where "N" is/],
  ['"\t"', '/body', /not JSON/],
  ['"open', '/body', /not JSON/],
  ['"open\\', '/body', /not JSON/],
  ['{"a":1,"a":1}', '/body/a', /more than once/],
  ['{"a":1,"\\u0061":2}', '/body/a', /more than once/],
  ['{"":1,"":2}', '/body/', /more than once/],
  ['{"a/b":[{"m~n":1,"m~n":{}}]}', '/body/a~1b/0/m~0n', /more than once/],
  ['[0,{"x":{"1":1,"1":2}}]', '/body/1/x/1', /more than once/],
  ['{"a":{"b":1},"a":2,"c":{"b":1}}', '/body/a', /more than once/],
  ['{"__proto__":{"admin":true}}', '/body/__proto__', /may not be named "__proto__"/],
  ['{"a":[{"\\u005f_proto__":1}]}', '/body/a/0/__proto__', /may not be named/],
  ['{"a":{"constructor":1}}', '/body/a/constructor', /may not be named "constructor"/],
  ['["\\ud800"]', '/body/0', /surrogate/],
  ['["\\udc00\\ud800"]', '/body/0', /surrogate/],
  ['["\ud800"]', '/body/0', /surrogate/],
  ['{"a":"\\u0000"}', '/body/a', /U\+0000/],
  ['{"a\\u0000":1}', '/body/a\0', /U\+0000/],
  ['{"\\ud800":1}', '/body/\ufffd', /surrogate/],
  ['1e400', '/body', /too large/],
  ['{"a":[-1e400]}', '/body/a/0', /too large/],
  [`[${'9'.repeat(400)}]`, '/body/0', /too large/],
  ['{"wei":12345678901234567890}', '/body/wei', /cannot represent this integer.*send it as a string/],
  ['[0,-9007199254740993]', '/body/1', /cannot represent this integer/],
  ['1152921504606846976', '/body', /cannot represent this integer/],
  ['12345678901234567000', '/body', /cannot represent this integer/],
]

for (const [text, path, message] of faults) {
  test(`refuses ${JSON.stringify(text.slice(0, 40))} at ${JSON.stringify(path)}`, () => {
    const issue = refusal(() => parseStrictJson(text))
    assert.equal(issue.path, path)
    assert.match(issue.message, message)
  })
}

const accepted = [
  '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
  '{"a":"a:1,\\"a\\":2","b":"{[\\\\"}',
  '{"toString":1,"C:\\\\temp":2,"valueOf":3}',
  '{"proto":1,"prototype":2,"constructors":3,"toString":4}',
  '["__proto__","constructor"]',
  '["\\ud83d\\ude00","😀","\\\\u0000","\\u0001"]',
  '[9007199254740991,-9007199254740992,1000000000000000000,1e23,1.7976931348623157e308,5e-324,1e-400,-0]',
  '[0.12345678901234567890]',
  'null',
  ' "text" ',
]

for (const text of accepted) {
  test(`reads ${text} as JSON.parse does`, () => {
    assert.deepStrictEqual(parseStrictJson(text), JSON.parse(text))
  })
}

test('a filter may name any key, which then is its own', () => {
  const text = '{"__proto__":{"a":1},"b":{"constructor":2,"\\u005f_proto__":null}}'
  const value = parseStrictJson(text, { takesAnyKey: true }) as Record<string, object>
  assert.equal(JSON.stringify(value), '{"__proto__":{"a":1},"b":{"constructor":2,"__proto__":null}}')
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.equal(Object.getPrototypeOf(value['b']), Object.prototype)
  const twice = refusal(() => parseStrictJson('{"constructor":1,"constructor":2}', { takesAnyKey: true }))
  assert.match(twice.message, /more than once/)
})

test('nesting is allowed up to the maximum and refused at the first level beyond it', () => {
  const nested = (levels: number) => '[0,'.repeat(levels - 1) + '[]' + ']'.repeat(levels - 1)
  assert.deepStrictEqual(parseStrictJson(nested(64)), JSON.parse(nested(64)))
  const issue = refusal(() => parseStrictJson(nested(65)))
  assert.deepEqual(issue, {
    path: '/body' + '/1'.repeat(64),
    message: 'Nested deeper than 64 levels: make it flatter.',
  })
  assert.equal(
    refusal(() => parseStrictJson('{"a":[[]]}', { maxDepth: 2, at: '/query/q' })).path,
    '/query/q/a/0',
  )
})

test('an error names the position and never quotes the text', () => {
  const { message } = refusal(() => parseStrictJson('{"password":hunter2,"name":"somebody with a name"}'))
  assert.doesNotMatch(message, /hunter2|somebody/)
})

test('a pointer too long to answer ends at the container around the fault', () => {
  const key = 'k'.repeat(2000)
  assert.equal(refusal(() => parseStrictJson(`{"a":{"${key}":1,"${key}":2}}`)).path, '/body/a')
})

const hostile: [name: string, text: string, refused: boolean][] = [
  ['brackets that open', '['.repeat(MEBIBYTE), true],
  ['objects that open', '{"a":'.repeat(MEBIBYTE / 5), true],
  ['brackets that close, then open', '}'.repeat(MEBIBYTE / 2) + '['.repeat(MEBIBYTE / 2), true],
  ['broken strings, then brackets', '"\\q"'.repeat(MEBIBYTE / 4) + '['.repeat(100), true],
  ['quotes', '"'.repeat(MEBIBYTE), true],
  ['backslashes that never end', '"' + '\\'.repeat(MEBIBYTE), true],
  ['backslashes', '"' + '\\'.repeat(MEBIBYTE) + '"', false],
  ['escaped quotes', '"' + '\\"'.repeat(MEBIBYTE / 2) + '"', false],
  ['one key many times', '{' + '"a":1,'.repeat(MEBIBYTE / 6) + '"a":1}', true],
  ['digits', '1'.repeat(MEBIBYTE), true],
  ['large exact integers, one inexact', '[' + '9007199254740992,'.repeat(60_000) + '9007199254740993]', true],
  ['empty objects before a fault', '[' + '{},'.repeat(MEBIBYTE / 3) + '1e999]', true],
]

for (const [name, text, refused] of hostile) {
  test(`a mebibyte of ${name} is ${refused ? 'refused' : 'read'} without an overflow`, () => {
    if (refused) refusal(() => parseStrictJson(text))
    else assert.equal(parseStrictJson(text), JSON.parse(text))
  })
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', ':', '"', '\\', '{"a":1}', '~', '/', '\\u'),
)
const key = text.filter((name) => name !== '__proto__' && name !== 'constructor')
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noDefaultInfinity: true, noNaN: true }))
  .filter((value) => !Object.is(value, -0) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(String(value))))
const { tree, object } = fc.letrec<{ tree: Json; object: { [key: string]: Json } }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('tree'), { maxLength: 5 }),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('tree'), { maxKeys: 5, noNullPrototype: true }),
}))

const escapeAll = (text: string) =>
  text.replace(/[^]/g, (unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0'))

const styles: ((json: string) => string)[] = [
  (json) => json,
  (json) => json.replace(/[\u0080-\uffff]+/g, escapeAll),
  (json) => json.replace(/"(?:[^"\\]|\\.)*"/g, (string) => `"${escapeAll(JSON.parse(string) as string)}"`),
]

test('property: reads back everything sound, however it is written', () => {
  fc.assert(
    fc.property(
      tree,
      fc.constantFrom(0, 1, '\t', '\r\n '),
      fc.constantFrom(...styles),
      (value, indent, style) => {
        const json = style(JSON.stringify(value, null, indent))
        assert.deepStrictEqual(parseStrictJson(json), value)
        assert.deepStrictEqual(parseJson(json), value)
      },
    ),
    { numRuns: 500 },
  )
})

test("a key written with an escape is not taken for another object's key that holds a backslash", () => {
  for (const parse of [parseStrictJson, parseJson]) {
    // On Node 26 the first text makes JSON.parse read the second one's key as gr\\u0.
    parse('{"id":1,"gr\\\\u0":2}')
    assert.deepEqual(parse('{"id":1,"gr\\u00f6\\u00dfe":2}'), { id: 1, größe: 2 })
    assert.deepEqual(parse('[{"id":1,"gr\\\\u0":2,"c":[{},true,null,-1.5e3,"a\\n"]}]'), [
      { id: 1, 'gr\\u0': 2, c: [{}, true, null, -1500, 'a\n'] },
    ])
  }
  parseStrictJson('{"~":1,"\\\\":2}')
  assert.equal(refusal(() => parseStrictJson('{"~":1,"\\u007e":0}')).path, '/body/~0')
})

test('what the server wrote itself is read whatever it holds', () => {
  const json =
    '{"__proto__":{"constructor":1},"a":[12345678901234567890,1e999],"\\\\":"\\u0000\\ud800","a":2}'
  const value = parseJson(json)
  assert.equal(JSON.stringify(value), '{"__proto__":{"constructor":1},"a":2,"\\\\":"\\u0000\\ud800"}')
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  assert.throws(() => parseJson('{"a":'), SyntaxError)
})

const pointerTo = (path: string[]) =>
  path.map((step) => '/' + step.replaceAll('~', '~0').replaceAll('/', '~1')).join('')

function pathsToObjects(value: Json, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.entries(value).flatMap(([step, child]) => pathsToObjects(child, [...path, step]))
  return Array.isArray(value) ? below : [path, ...below]
}

/** Writes JSON with one more member in the object at `path`. */
function plant(value: Json, path: string[] | undefined, member: string, index: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const written = Object.entries(value).map(([step, child]) => {
    const rest = path?.[0] === step ? path.slice(1) : undefined
    const text = plant(child, rest, member, index)
    return Array.isArray(value) ? text : `${JSON.stringify(step)}:${text}`
  })
  if (path?.length === 0) written.splice(index % (written.length + 1), 0, member)
  return Array.isArray(value) ? `[${written.join()}]` : `{${written.join(' ,')}}`
}

test('property: finds a planted second key at its path', () => {
  fc.assert(
    fc.property(object, key, fc.nat(), fc.nat(), fc.boolean(), (value, name, where, index, escape) => {
      const paths = pathsToObjects(value)
      const path = paths[where % paths.length]!
      let target = value
      for (const step of path) target = target[step] as typeof value
      if (!Object.hasOwn(target, name)) target[name] = 1
      const written = escape ? `"${escapeAll(name)}"` : JSON.stringify(name)
      const issue = refusal(() => parseStrictJson(plant(value, path, `${written}:0`, index)))
      assert.match(issue.message, /more than once/)
      assert.equal(issue.path, '/body' + pointerTo([...path, name]))
    }),
    { numRuns: 500 },
  )
})

test('property: any text is either read as JSON.parse reads it, or refused with a validation error', () => {
  const damaged = fc
    .tuple(tree, fc.nat(), fc.nat(8), fc.oneof(anyText(), fc.constantFrom('"', '\\', '[', '}', ',', '1e999')))
    .map(([value, at, remove, insert]) => {
      const json = JSON.stringify(value)
      const cut = at % (json.length + 1)
      return json.slice(0, cut) + insert + json.slice(cut + remove)
    })
  fc.assert(
    fc.property(fc.oneof(damaged, anyText(), fc.json()), (json) => {
      let expected: unknown
      let valid = true
      try {
        expected = JSON.parse(json)
      } catch {
        valid = false
      }
      let value: unknown
      try {
        value = parseStrictJson(json)
      } catch (error) {
        return assert.ok(error instanceof ApiError, String(error))
      }
      assert.ok(valid, 'JSON.parse refuses this')
      // JSON.parse itself confuses escaped keys (see parseJson), so it is no measure for those.
      if (!json.includes('\\')) assert.deepStrictEqual(value, expected)
    }),
    { numRuns: 1000 },
  )
})

test('bytes are decoded as UTF-8, without a byte order mark', () => {
  assert.equal(decodeUtf8(Buffer.from('{"a":"Größe 😀"}')), '{"a":"Größe 😀"}')
  assert.equal(decodeUtf8(Buffer.from('\ufeff\ufeff{}')), '\ufeff{}')
  assert.equal(decodeUtf8(new Uint8Array(Buffer.from('xx{}yy')).subarray(2, 4)), '{}')
  assert.equal(decodeUtf8(new Uint8Array()), '')
})

const notUtf8: [name: string, bytes: number[]][] = [
  ['a byte that never occurs', [0x22, 0xff, 0x22]],
  ['a character cut short', [0x22, 0xe2, 0x82]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['half a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a code point beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ['UTF-16 with its byte order mark', [0xff, 0xfe, 0x7b, 0x00]],
]

for (const [name, bytes] of notUtf8) {
  test(`refuses ${name} as not UTF-8`, () => {
    const issue = refusal(() => decodeUtf8(Uint8Array.from(bytes)))
    assert.equal(issue.path, '/body')
    assert.match(issue.message, /UTF-8/)
  })
}
