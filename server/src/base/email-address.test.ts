import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from './errors.ts'
import { emailKey, parseAddress } from './email-address.ts'
import type { EmailAddress } from './email-address.ts'
import { anyText } from '../testing/any-text.ts'

function tryParse(text: string): EmailAddress | undefined {
  try {
    return parseAddress(text, '/body/email')
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.code, 'VALIDATION_ERROR')
    assert.equal((error.details!['issues'] as { path: string }[])[0]!.path, '/body/email')
    return undefined
  }
}

const long = (length: number) => 'a'.repeat(length)
const domainOf = (length: number) => `${long(63)}.${long(63)}.${long(63)}.`.slice(0, length - 3) + '.bb'

const taken: [text: string, address: string, key: string][] = [
  ['ada@example.com', 'ada@example.com', 'ada@example.com'],
  ['  Ada.Lovelace@Example.COM\t', 'Ada.Lovelace@Example.COM', 'ada.lovelace@example.com'],
  ['\r\nada@example.com\n\f', 'ada@example.com', 'ada@example.com'],
  ['a+b@example.com', 'a+b@example.com', 'a+b@example.com'],
  [
    "o'neil_!#$%&*/=?^`{|}~-@example.com",
    "o'neil_!#$%&*/=?^`{|}~-@example.com",
    "o'neil_!#$%&*/=?^`{|}~-@example.com",
  ],
  ['1@2.3a', '1@2.3a', '1@2.3a'],
  ['a@b.c', 'a@b.c', 'a@b.c'],
  [
    'user@mail.xn--mnchen-3ya.example',
    'user@mail.xn--mnchen-3ya.example',
    'user@mail.xn--mnchen-3ya.example',
  ],
  [`${long(64)}@example.com`, `${long(64)}@example.com`, `${long(64)}@example.com`],
  [`a@${long(63)}.com`, `a@${long(63)}.com`, `a@${long(63)}.com`],
  [`${long(64)}@${domainOf(189)}`, `${long(64)}@${domainOf(189)}`, `${long(64)}@${domainOf(189)}`],
]

for (const [text, address, key] of taken) {
  test(`takes ${JSON.stringify(text.slice(0, 60))}`, () => {
    assert.deepEqual(parseAddress(text, '/body/email'), { address, key })
  })
}

const refused: [name: string, texts: string[]][] = [
  ['nothing', ['', '  ']],
  ['no @, or nothing beside it', ['ada', 'ada.example.com', '@', '@example.com', 'ada@', ' @ ']],
  ['two @', ['a@b@example.com', 'a@@example.com', 'a@example.com@']],
  ['a fullwidth or small @', ['ada＠example.com', 'ada﹫example.com', 'ada@evil.com＠example.com']],
  [
    'look-alike letters',
    ['аda@example.com', 'ada@exаmple.com', 'ada@examp\u2113e.com', 'ＡＤＡ@example.com'],
  ],
  ['letters that lower-case to ASCII', ['\u212aarl@example.com', 'ad\u0130@example.com', 'ada@\u212a.com']],
  ['an international domain that is not in its xn-- form', ['ada@münchen.example', 'ada@例え.jp']],
  ['an ideographic or fullwidth dot', ['ada@example。com', 'ada@example．com']],
  [
    'a quoted local part',
    ['"ada"@example.com', '"a@b"@example.com', '"a\\"b"@example.com', 'a."b".c@example.com'],
  ],
  ['an escape', ['a\\@b@example.com', 'a\\b@example.com']],
  ['a comment', ['ada(x)@example.com', '(x)ada@example.com', 'ada@(x)example.com', 'ada@example.com(x)']],
  ['a name or angle brackets', ['Ada <ada@example.com>', '<ada@example.com>', 'ada@example.com>']],
  [
    'a list',
    [
      'a@example.com,b@example.com',
      'a@example.com;b@example.com',
      'a@example.com b@example.com',
      'a,b@example.com',
    ],
  ],
  ['a group or a link', ['all:ada@example.com;', 'mailto:ada@example.com', 'ada@example.com?bcc=b']],
  ['line breaks', ['a@example.com\r\nBcc: b@example.com', 'a\n@example.com', 'a@example.com\u2028']],
  [
    'control characters',
    ['a\0@example.com', 'a@example.com\0', 'a\x7f@example.com', 'a\t@example.com', 'a@exa\x1bmple.com'],
  ],
  [
    'invisible characters',
    [
      'a\u200b@example.com',
      '\u202eada@example.com',
      '\ufeffada@example.com',
      'a\u00ad@example.com',
      'ada@example.com\u00a0',
    ],
  ],
  ['spaces inside', ['a b@example.com', 'a @example.com', 'a@ example.com', 'a@example .com']],
  ['half a surrogate pair', ['\ud800@example.com', 'a@example.com\udc00']],
  [
    'dots at an end or in a row',
    [
      '.a@example.com',
      'a.@example.com',
      'a..b@example.com',
      'a@.example.com',
      'a@example..com',
      'a@example.com.',
    ],
  ],
  ['a domain without a dot', ['root@localhost', 'a@com', 'a@example.']],
  ['an address in place of a domain', ['a@[127.0.0.1]', 'a@[IPv6:::1]', 'a@127.0.0.1', 'a@2130706433.1']],
  [
    'labels that are none',
    ['a@-example.com', 'a@example-.com', 'a@ex_ample.com', 'a@example.com:25', 'a@exam/ple.com'],
  ],
  [
    'too long',
    [
      `${long(65)}@example.com`,
      `a@${long(64)}.com`,
      `${long(64)}@${domainOf(190)}`,
      long(1 << 20),
      `a${' '.repeat(1 << 20)}@example.com`,
    ],
  ],
]

for (const [name, texts] of refused) {
  test(`refuses ${name}`, () => {
    for (const text of texts) assert.equal(tryParse(text), undefined, JSON.stringify(text.slice(0, 80)))
  })
}

test('the error says what to do and does not repeat what was sent', () => {
  const error = /^ApiError: \/body\/email: [\x20-\x7e]*xn-- form: it contains U\+00FC\.$/
  assert.throws(() => parseAddress('ada@münchen.example', '/body/email'), error)
  assert.throws(() => parseAddress('ada', '/body/email'), /name@example\.com\.$/)
})

test("the key of text that is no address is no account's key", () => {
  assert.equal(emailKey(' Ada@Example.com\t\r\n'), 'ada@example.com')
  for (const text of ['\u212aarl@example.com', 'ｋarl@example.com']) {
    assert.equal(tryParse(emailKey(text)), undefined)
  }
})

const swapCase = (text: string, which: boolean[]) =>
  text.replace(/[a-z]/gi, (c, index: number) =>
    which[index % which.length] ? c.toUpperCase() : c.toLowerCase(),
  )

const hostile = fc.constantFrom(
  '@',
  '.',
  ' ',
  '\r\n',
  ',',
  ';',
  '"',
  '<',
  '>',
  '(',
  '\\',
  '\0',
  '＠',
  'а',
  '\u212a',
  '[',
  ':',
)
const nearly = fc
  .tuple(fc.emailAddress(), fc.nat(), fc.oneof(hostile, anyText({ maxLength: 3 })))
  .map(([address, at, insert]) => {
    const cut = at % (address.length + 1)
    return address.slice(0, cut) + insert + address.slice(cut)
  })
const any = fc.oneof(fc.emailAddress(), nearly, anyText(), fc.string())

test('property: what is taken is a single plain address, and anything else is a validation error', () => {
  fc.assert(
    fc.property(any, (text) => {
      const parsed = tryParse(text)
      if (!parsed) return
      assert.equal(parsed.address, text.replace(/^[ \t\n\f\r]+|[ \t\n\f\r]+$/g, ''))
      assert.match(parsed.address, /^[^\x00-\x20\x7f-\uffff"(),:;<>@[\\\]]+@[A-Za-z0-9.-]+$/)
      assert.deepEqual(parseAddress(parsed.address, '/x'), parsed)
      assert.deepEqual(parseAddress(parsed.key, '/x'), { address: parsed.key, key: parsed.key })
    }),
    { numRuns: 3000 },
  )
})

test('property: addresses have the same key exactly where they differ in ASCII case only', () => {
  const asciiLower = (text: string) =>
    text.replace(/[A-Z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0x20))
  fc.assert(
    fc.property(any, fc.array(fc.boolean(), { minLength: 1 }), (text, which) => {
      const parsed = tryParse(text)
      assert.equal(tryParse(swapCase(text, which))?.key, parsed?.key)
      assert.equal(emailKey(text), parsed ? asciiLower(parsed.address) : emailKey(swapCase(text, which)))
      if (parsed) assert.equal(parsed.key, asciiLower(parsed.address))
    }),
    { numRuns: 2000 },
  )
})

test('property: ordinary addresses are taken', () => {
  fc.assert(fc.property(fc.emailAddress(), (address) => assert.equal(tryParse(address)?.address, address)))
})
