// What no client should send, and some will: values for tests that a server must refuse without breaking.
import fc from 'fast-check'
import { anyText } from './any-text.ts'

const long = fc.constantFrom(300, 3000).map((length) => 'x'.repeat(length))

// Names that mean something to JavaScript, to a query, or to nobody at all.
const inherited = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'toJSON',
  'then',
)
const operators = '$eq $ne $gt $lte $in $nin $and $or $nor $not $exists $where $regex $'.split(' ')
const paths = ['_id', 'n', 'a.b', '', '.', '..', 'a..b', '0', '-1', 'length', '\u0000', '\ud800', '😀']
const name = fc.oneof(
  { weight: 3, arbitrary: inherited },
  { weight: 3, arbitrary: fc.constantFrom(...operators) },
  { weight: 2, arbitrary: fc.constantFrom(...paths) },
  { weight: 1, arbitrary: anyText({ maxLength: 6 }) },
)

const oddText = fc.constantFrom(
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udc00',
  '\ufeff',
  '\u202e',
  '\uffff',
  'İ',
  '＠',
  '😀',
  'e\u0301',
  "' or 1=1 --",
  '"; drop table store_documents; --',
  '%',
  '%00',
  '%s%n',
  '\\',
  '../../../etc/passwd',
  '${7*7}',
  '\r\nset-cookie: x=y',
  '<script>',
  'null',
  'undefined',
  'NaN',
  'true',
  '-0',
  '1e3',
  '0x10',
  ' 1',
  '١',
  '9'.repeat(20),
)

/** Any JSON value, most of them where another one belongs. */
export const hostileValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, 5e-324, -1e21),
    oddText,
    long,
    name,
    fc.array(tie('value'), { maxLength: 3 }),
    // By entries: an object literal would take `__proto__` for its prototype.
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value

const asJson = hostileValue.map((value) => JSON.stringify(value))
const nested = fc
  .tuple(fc.constantFrom(63, 64, 65, 5000), fc.constantFrom(['[', ']'], ['{"a":', '}'], ['{"$not":', '}']))
  .map(([depth, [open, close]]) => open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth))

/** Text for a parameter or a header's place, some of it JSON, or something in base64url. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  oddText,
  long,
  name,
  anyText(),
  asJson,
  nested.filter(({ length }) => length < 3000),
  fc.array(name, { maxLength: 4 }).map((names) => names.map((one) => `-${one}`).join(',')),
  asJson.map((json) => Buffer.from(json).toString('base64url')),
)

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Changes one place inside of JSON: puts something in where there is room, else in the place of what is there. */
function tamper(value: unknown, at: number, key: string, odd: unknown): unknown {
  const whole = { value: structuredClone(value) }
  const places: [container: object, key: string][] = []
  const visit = (container: object): void => {
    for (const [name, inner] of Object.entries(container)) {
      places.push([container, name])
      if (isObject(inner)) visit(inner)
    }
  }
  visit(whole)
  const [container, name] = places[at % places.length]!
  const there: unknown = Reflect.get(container, name)
  if (Array.isArray(there)) there.push(odd)
  else if (isObject(there))
    Object.defineProperty(there, key, { value: odd, enumerable: true, writable: true, configurable: true })
  else Reflect.set(container, name, odd)
  return whole.value
}

/** JSON values that look right from far away. */
export function tampered(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const changes = fc.array(fc.tuple(fc.nat(), name, hostileValue), { minLength: 1, maxLength: 2 })
  return fc
    .tuple(values, changes)
    .map(([value, made]) => made.reduce((whole, [at, key, odd]) => tamper(whole, at, key, odd), value))
}

/** Text that looks right from far away; where it is JSON, it stays JSON. */
export function tamperedText(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const isJson = (text: string): boolean => {
    if (!text.startsWith('{"')) return false
    try {
      return typeof JSON.parse(text) === 'object'
    } catch {
      return false
    }
  }
  return texts.chain((text) =>
    isJson(text)
      ? tampered(fc.constant(JSON.parse(text))).map((value) => JSON.stringify(value))
      : fc.tuple(fc.nat(text.length), oddText).map(([at, odd]) => text.slice(0, at) + odd + text.slice(at)),
  )
}

/** A part of a path as it is sent, not always one that can be decoded. */
export const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  hostileText.map(percentEncoded).filter((text) => text !== ''),
  fc.constantFrom(
    '%',
    '%zz',
    '%ff',
    '%00',
    '%ED%A0%80',
    '%2e%2e',
    '..',
    '.',
    ';a=b',
    '%2F',
    '%3F',
    '\u00ff',
    '*',
    '{}',
  ),
  fc.constantFrom(501, 6000).map((length) => 'a'.repeat(length)),
)

/** Half a surrogate pair has no form in UTF-8, so it is sent as the replacement character. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** Text for a header, of the characters that a header can hold at all. */
export const hostileHeader: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '*',
    '"',
    '""',
    '"1", "2"',
    ',',
    ';',
    '__proto__',
    'null',
    'x'.repeat(300),
    '\u00ff',
  ),
  // Not as a string of such units, for which the library first looks up every text that it knows to be difficult.
  fc
    .array(
      fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f),
      { maxLength: 20 },
    )
    .map((codes) => String.fromCharCode(...codes)),
)

const bytes = fc.uint8Array({ maxLength: 300 }).map((content) => Buffer.from(content))

/** Bytes of a body that nothing parses. */
export const hostileBytes: fc.Arbitrary<Buffer> = fc.oneof(
  bytes,
  hostileText.map((text) => Buffer.from(text)),
  fc.constantFrom(1000, 100_000).map((length) => Buffer.alloc(length)),
)

const usually = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd })

const formText = fc.oneof(
  hostileText.map((text) => encodeURIComponent(text.toWellFormed())),
  hostileText,
  fc.constantFrom('%', '%zz', '%ff', '%00', '+', '&', '=', '&&', ';'),
)

/** A form with these fields, and others, some of them twice. */
export function hostileForm(names: readonly string[]): fc.Arbitrary<Buffer> {
  const field = fc.tuple(
    usually(fc.constantFrom(...names), formText, 5),
    usually(fc.constantFrom('', 'a+b'), formText, 1),
  )
  const fields = fc
    .array(field, { maxLength: 5 })
    .map((pairs) => pairs.map((pair) => pair.join('=')).join('&'))
  return fc.oneof(
    fields.map((text) => Buffer.from(text)),
    fields.map((text) => Buffer.from(text, 'latin1')),
    hostileBytes,
  )
}

const DISPOSITIONS = [
  '',
  'attachment',
  'form-data;',
  'form-data; name',
  'form-data; name="',
  'form-data; name=a; name=b',
]

/**
 * The body of a multipart request whose boundary is `b`: a file and fields, or what looks like them.
 *
 * @param usual parts that fit, by the name of the part
 */
export function hostileMultipart(usual: Readonly<Record<string, string>>): fc.Arbitrary<Buffer> {
  const lineEnd = usually(fc.constant('\r\n'), fc.constantFrom('\n', '\r', '', '\r\n\r\n'), 20)
  const partOf = (place: fc.Arbitrary<string>) =>
    fc
      .record({
        name: usually(place, hostileText, 9),
        filename: fc.option(usually(fc.constant('a.txt'), hostileText, 2), { freq: 3 }),
        odd: usually(fc.constant(undefined), fc.constantFrom(...DISPOSITIONS), 9),
        type: fc.option(usually(fc.constant('text/plain'), hostileHeader, 2)),
        content: fc.oneof(
          hostileBytes,
          asJson.map((text) => Buffer.from(text)),
          fc.constant(Buffer.from('{}')),
        ),
        lineEnd,
      })
      .map(({ name, filename, odd, type, content, lineEnd: end }) => {
        const disposition =
          odd ?? `form-data; name="${name}"${filename === null ? '' : `; filename="${filename}"`}`
        const lines = [
          '--b',
          `content-disposition: ${disposition}`,
          ...(type === null ? [] : [`content-type: ${type}`]),
        ]
        return Buffer.concat([Buffer.from(lines.join(end) + end + end), content, Buffer.from('\r\n')])
      })
  const fitting = Object.entries(usual).map(([name, content]) => {
    const filename = name === 'file' ? '; filename="a.txt"' : ''
    return Buffer.from(
      `--b\r\ncontent-disposition: form-data; name="${name}"${filename}\r\n\r\n${content}\r\n`,
    )
  })
  const none = fc.constant<Buffer[]>([])
  const odd = fc.array(partOf(fc.constantFrom(...Object.keys(usual))), { maxLength: 3 })
  const parts = fc.tuple(
    usually(fc.shuffledSubarray(fitting, { minLength: 1 }), none, 4),
    usually(none, odd, 1),
  )
  const end = usually(
    fc.constant('--b--\r\n'),
    fc.constantFrom('', '--b', '--b-', '--b--', '--b--\r\n--b\r\nx', '--c--'),
    4,
  )
  return fc.tuple(parts, end, fc.option(fc.nat(), { freq: 5 })).map(([[fit, more], last, cut]) => {
    const whole = Buffer.concat([...fit, ...more, Buffer.from(last)])
    return cut === null ? whole : whole.subarray(0, cut % (whole.length + 1))
  })
}

/** Changes JSON text into what is JSON no more, or what parsers disagree about. */
export function spoiledJson(json: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    fc.tuple(json, fc.nat()).map(([text, at]) => text.slice(0, at % Math.max(1, text.length))),
    fc.tuple(json, name).map(([text, key]) => {
      const member = `${JSON.stringify(key)}:1,`
      return text.replace('{', `{${member}${member}`)
    }),
    fc.tuple(json, oddText).map(([text, odd]) => text + odd),
    fc.tuple(json, nested).map(([text, deep]) => text.replace('{', `{"deep":${deep},`)),
    json.map((text) => `[${text}]`),
    json.map((text) => text.replaceAll('"', "'")),
    json.map((text) => text.replace('{', '{"a":1e999,')),
    json.map((text) => text.replace('{', '{"a":12345678901234567890,')),
    json.map((text) => text.replace('{', '{"a":"\\ud800","b":"\\u0000",')),
    fc.constantFrom(
      '',
      ' ',
      '\ufeff',
      '{',
      '}',
      '[',
      '"',
      'null',
      'true',
      '0',
      'NaN',
      '{}{}',
      '{"a":01}',
      '{"a":1,}',
    ),
  )
}
