// The texts of calls with values that mean something in a shell or a language: what arrives is what was meant.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import fc from 'fast-check'

import { queryText, type SampleValue, type SampleCall } from '../src/code/call.ts'
import { temporaryFolder } from '../../server/src/testing/engines.ts'
import { isLongRun } from '../../server/src/testing/long-run.ts'
import { json, startScriptedServer } from '../../server/src/testing/scripted-http.ts'
import { anyText } from '../../server/src/testing/any-text.ts'
import { codeOf, runners, startCode, withClient } from './code.fixture.ts'

const CALLS = isLongRun ? 200 : 30

/** What ends a text, begins an expression or a command, or is no character, in one of the languages. */
const PIECES = [
  "'", '"', "'''", '"""', '`', '$', '${x}', '$(id)', '$x', '\\', '\\\\', '\\n', '\\#(x)', '\\(x)', '#', '"#', '"""#',
  '"##', '\n', '\r\n', '\t', '\b', '\f', '\0', '\u001b', '\u2028', '\u202e', '\ufeff', '👩‍👧', 'é', '\ud800', '\udfff', '{', '}',
  '{x}', '%s', '%', '+', '&', ';', '|', '>', '*', '*/', '//', '!', '@', '<', '--', '=', '/', '?', ' ', '~', '-', 'None',
] // prettier-ignore
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
  anyText({ maxLength: 8 }),
)
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e21, 1e22, 123456789012345680000, 5e-324, 0.1, -1),
)
const { value } = fc.letrec<{ value: SampleValue; object: SampleValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    hostile,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.oneof(hostile, fc.constantFrom('__proto__', 'a', '')), tie('value'), {
    maxKeys: 4,
  }),
}))

/** As it is after a way through JSON, which has no -0. */
const plain = <T>(of: T): T => JSON.parse(JSON.stringify(of)) as T

const bodies = fc.dictionary(hostile, value, { maxKeys: 4 }).map(plain)
const segment = hostile.filter((one) => one !== '' && one !== '.' && one !== '..')
const queries = fc.dictionary(
  fc.constantFrom('q', 'filter', 'a b', 'x'),
  fc.oneof(hostile, fc.integer(), fc.boolean(), bodies),
  { maxKeys: 3 },
)

const calls = (baseUrl: string): fc.Arbitrary<SampleCall> =>
  fc
    .record({
      baseUrl: fc.constant(baseUrl),
      method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
      path: fc.constantFrom('/store/:collection', '/store/:collection/:id', '/a/:id'),
      params: fc.record({ collection: segment, id: segment }),
      query: queries.map(plain),
      body: fc.oneof(bodies, value.map(plain)),
      hasToken: fc.boolean(),
      answer: fc.constant('json' as const),
    })
    .map((call) => (call.method === 'GET' || call.method === 'DELETE' ? { ...call, body: undefined } : call))

/** What a call is to a server. */
const sent = ({ method, path, params, query, body, hasToken }: SampleCall) => ({
  method,
  path: path.replaceAll(/:(\w+)/g, (_, name: string) => params[name]!.toWellFormed()),
  query: Object.fromEntries(Object.entries(query).map(([name, one]) => [name, comparable(queryText(one))])),
  body: body === undefined ? undefined : plain(body),
  authorization: hasToken ? 'Bearer a-token' : undefined,
})

/** JSON is written with blanks and escapes or without. */
function comparable(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

describe('the text of a call', () => {
  for (const runner of runners)
    test(`in ${runner.language} sends what was meant`, { skip: runner.skip }, async (t) => {
      const server = await startScriptedServer(t, (_, response) => json(response, 200, {}))
      const folder = await temporaryFolder(t)
      const samples = fc.sample(calls(`http://127.0.0.1:${server.port}`), CALLS)
      const texts = await Promise.all(samples.map((one) => codeOf(runner.language, one)))
      // All in one process; modules, which declare the same names, each in a file of its own.
      const isModule = runner.language === 'typescript'
      if (isModule)
        for (const [at, text] of texts.entries())
          await writeFile(join(folder, `call-${at}.ts`), withClient(text))
      const whole = texts.map((text, at) => (isModule ? `await import('./call-${at}.ts')` : text)).join('\n')
      const running = await startCode(runner, whole, { folder, token: 'a-token' })
      t.after(running.kill)
      await running.ended
      assert.equal(server.asked.length, CALLS)
      for (const [at, asked] of server.asked.entries())
        assert.deepEqual(
          {
            method: asked.method,
            path: asked.path.split('/').map(decodeURIComponent).join('/'),
            query: Object.fromEntries([...asked.query].map(([name, text]) => [name, comparable(text)])),
            body: asked.body === '' ? undefined : comparable(asked.body),
            authorization: asked.headers.authorization,
          },
          sent(samples[at]!),
          texts[at]!,
        )
    })
})

// Kotlin, Dart and Swift do not run here: their texts are read by the rules of the languages.
describe('the text of a call, read as', () => {
  const bodyOf = (body: SampleValue): SampleCall => ({
    baseUrl: 'http://localhost:3000',
    method: 'POST',
    path: '/a',
    params: {},
    query: {},
    body,
    hasToken: false,
    answer: 'json',
  })
  const holds = (language: string, read: (text: string) => unknown) =>
    fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const text = await codeOf(language, bodyOf(body))
        assert.deepEqual(read(text), body, text)
        assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u200b-\u200f\u202a-\u202e\u2028\u2029]/)
      }),
      { numRuns: isLongRun ? 2_000 : 200 },
    )

  // https://kotlinlang.org/spec/syntax-and-grammar.html: a raw string ends at three quotes, and $ begins a template.
  test('Kotlin, has the body in a raw string without a template', () =>
    holds('kotlin', (text) => {
      const [, raw = ''] = /val body = """(.*?)"""\n/s.exec(text)!
      const literal = raw.replaceAll("${'$'}", '\0')
      assert.doesNotMatch(literal, /\$/)
      assert.equal(text.split('"""').length, 3)
      return JSON.parse(literal.replaceAll('\0', '$'))
    }))

  // https://dart.dev/language/built-in-types: \ escapes, and $ begins an interpolation.
  test('Dart, has the body as literals without an interpolation', () =>
    holds('dart', (text) => {
      const [, literal = ''] = /jsonEncode\((.*)\),\n {2}\);/s.exec(text)!
      const asJson = literal.replaceAll(
        /'((?:[^'\\$\n\r]|\\['\\$nrtbf]|\\u[\da-f]{4})*)'|,(?=\s*[}\]])|[$\\]/g,
        (all, one?: string) =>
          one === undefined
            ? all.startsWith(',')
              ? ''
              : assert.fail(`${all} is outside of a text: ${literal}`)
            : `"${one.replaceAll(/\\(['$])|"/g, (found, escaped?: string) => escaped ?? `\\${found}`)}"`,
      )
      return JSON.parse(asJson)
    }))

  // https://docs.swift.org/swift-book/documentation/the-swift-programming-language/stringsandcharacters: as many # end it.
  test('Swift, has the body in a raw string that nothing in it ends or escapes', () =>
    holds('swift', (text) => {
      const [, hashes = '', raw = ''] =
        /httpBody = Data\((#+)"""\n(.*)\n"""\1\.utf8\)/s.exec(text) ??
        /httpBody = Data\((#+)"(.*)"\1\.utf8\)/.exec(text)!
      assert.equal(raw.includes(`"${hashes}`), false, text)
      assert.equal(raw.includes(`\\${hashes}`), false, text)
      return JSON.parse(raw)
    }))
})
