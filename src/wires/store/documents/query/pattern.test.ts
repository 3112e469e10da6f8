import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../base/errors.ts'
import { parseFilter } from './parse.ts'
import { matcherOf, parsePattern, prefixOf } from './pattern.ts'
import { setOf } from './patterns/character-set.ts'
import { withOtherCases } from './patterns/unicode.ts'

const AT = '/query/filter/v/$regex'

const pattern = (source: string, options = '') => parsePattern(source, options, AT)

function refusal(source: string, options = ''): { path: string; message: string } {
  try {
    parsePattern(source, options, AT, '/query/filter/v/$options')
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 400, String(error))
    return (error.details as { issues: [{ path: string; message: string }] }).issues[0]
  }
  assert.fail(`${source} is not refused`)
}

/** What PCRE2 10.42 itself answered in UTF mode: the texts with a match and those without. */
const answers: [source: string, options: string, found: string[], notFound: string[]][] = [
  ['', '', ['', 'a'], []],
  ['b.d', '', ['abcde', 'b😀d'], ['b\nd', 'bd']],
  ['b.d', 's', ['b\nd'], []],
  ['\\Nb', 's', ['ab'], ['\nb']],
  ['^a', '', ['a'], ['ba', '\na']],
  ['^a', 'm', ['b\na'], ['ba']],
  ['a$', '', ['a', 'a\n'], ['a\n\n', 'a\nb', 'ab']],
  ['a$', 'm', ['a\nb', 'a\n\n'], ['ab']],
  ['a\\Z', 'm', ['a', 'a\n'], ['a\nb']],
  ['a\\z', '', ['a'], ['a\n']],
  ['\\Aa', 'm', ['a'], ['b\na']],
  ['^$', '', ['', '\n'], ['\n\n', 'a']],
  ['^$', 'm', ['', 'a\n\nb', 'a\n\n', '\n'], ['a\n', 'a']],
  ['^\\s*$', 'm', ['a\n ', 'a\n\nb', ' \n'], ['a', 'a\n']],
  ['(?:^a*\\n?)+$', 'm', ['b\na\n'], ['b', 'b\n']],
  ['(^|,)b(,|$)', '', ['a,b,c', 'b', 'a,b\n'], ['ab,c']],
  ['\\bcat\\b', '', ['a cat.', 'écat', 'cat'], ['cats']],
  ['\\Bcat', '', ['bobcat'], ['cats']],
  ['\\B', '', ['', 'ab'], ['a', 'i😀s']],
  ['.\\z', '', ['a😀'], ['a\n']],
  ['^.$', '', ['¥', '😀'], ['ab', '\n', 'e\u0301']],
  ['é', 'i', ['É'], ['e']],
  ['straße', 'i', ['STRAẞE', 'ſtraße'], ['STRASSE']],
  ['k', 'i', ['K', '\u212a'], ['x']],
  ['[^k]', 'i', ['x'], ['K', '\u212a']],
  ['σ', 'i', ['ς', 'Σ'], ['s']],
  ['i', 'i', ['I'], ['İ', 'ı']],
  ['[α-ω]', 'i', ['Ω'], ['a']],
  ['ǆ', 'i', ['ǅ', 'Ǆ'], ['dž']],
  ['\u0345', 'i', ['Ι', 'ι'], ['i']],
  ['\\w', 'i', ['_'], ['ſ', '\u212a', 'é']],
  ['\\W', '', ['é'], ['a', '_']],
  ['\\d', '', ['1'], ['١']],
  ['\\s', '', ['\x0b', ' '], ['\x85', '\xa0']],
  ['\\S', '', ['\xa0'], [' ']],
  ['\\h', '', ['\xa0', '\t', '\u180e'], ['\n']],
  ['\\v', '', ['\x0b', '\x85', '\u2028'], [' ']],
  ['\\H', '', ['\n'], ['\t']],
  ['[[:alpha:]]', '', ['a'], ['é', '1']],
  ['[[:upper:]]', 'i', ['a', 'K'], ['1']],
  ['[[:^alpha:]]', '', ['é'], ['a']],
  ['[[:punct:]]', '', ['$'], ['a', '«']],
  ['[[:space:][:digit:]_]+x', '', ['1 _x'], ['ax']],
  ['[[:word:]]', '', ['_'], ['-']],
  ['\\pL', '', ['é', '中'], ['1']],
  ['\\p{Lu}', '', ['É'], ['é']],
  ['\\P{Lu}', '', ['é'], ['É']],
  ['\\p{^L}', '', ['1'], ['é']],
  ['[\\pL\\d]', '', ['é', '1'], [' ']],
  ['\\p{Greek}', '', ['α'], ['a']],
  ['\\p{Han}', '', ['中'], ['a']],
  ['\\p{L&}', '', ['a'], ['中']],
  ['[]a]', '', [']', 'a'], ['[']],
  ['[^]a]', '', ['b'], [']']],
  ['[a-]', '', ['-', 'a'], ['b']],
  ['[a-c-e]', '', ['-', 'e'], ['d']],
  ['[\\w-]', '', ['-'], ['+']],
  ['[\\n\\x41-\\x43]', '', ['B', '\n'], ['D']],
  ['[\\b]', '', ['\x08'], ['b']],
  ['[[]', '', ['['], ['a']],
  ['[a^]', '', ['^'], ['b']],
  ['[.]', '', ['.'], ['a']],
  ['[--/]', '', ['.', '-'], ['0']],
  ['[\\]\\-]', '', ['-', ']'], ['a']],
  ['a{2}', '', ['aa'], ['a', 'a{2}']],
  ['^a{2,3}$', '', ['aa', 'aaa'], ['a', 'aaaa']],
  ['^a{2,}$', '', ['aaaaa'], ['a']],
  ['a{', '', ['a{'], ['a']],
  ['a{,}', '', ['a{,}'], ['a']],
  ['a{x}', '', ['a{x}'], ['a']],
  ['a}b]', '', ['a}b]'], ['ab']],
  ['^(ab){0}c', '', ['c'], ['abc']],
  ['^a??b+?$', '', ['ab', 'b'], ['aab']],
  ['^(a|b)*c$', '', ['abac', 'c'], ['abad']],
  ['^(|a)b', '', ['b', 'ab'], ['aab']],
  ['^(?:a|)$', '', ['a', ''], ['b']],
  ['(?:)*', '', ['', 'a'], []],
  ['a(?i)b|c', '', ['aB', 'C'], ['AB', 'A']],
  ['a(?i:b)c', '', ['aBc'], ['aBC', 'ABc']],
  ['(?-i)a', 'i', ['a'], ['A']],
  ['(?i)a(?-i)b', '', ['Ab'], ['AB']],
  ['((?i)a)b', '', ['Ab'], ['AB']],
  ['(?s:.)(?-s:.)', 's', ['\na'], ['a\n']],
  ['(?m)^b$', '', ['a\nb'], ['ab']],
  ['(?i-s:a.)', 's', ['Ab'], ['A\n']],
  ['a b # c\n d', 'x', ['abd'], ['a b d']],
  ['a\\ b', 'x', ['a b'], ['ab']],
  ['[a b]', 'x', [' '], ['c']],
  ['a + b', 'x', ['aab'], ['a b']],
  ['a#b', 'x', ['a'], ['']],
  ['(?x: a b )c d', '', ['abc d'], ['abcd']],
  ['a(?#comment)+b', '', ['aab'], ['b']],
  ['\x85a\u2028b', 'x', ['ab', '\x85ab'], []],
  ['(?<year>\\d{4})-(?P<month>\\d\\d)', '', ['2026-11'], ['26-11']],
  ["(?'a'b)", '', ['b'], ['a']],
  ['(?|a(b)|c(d))', '', ['ab', 'cd'], ['ad']],
  ['\\Qa.b*\\E+', '', ['a.b**'], ['axb*', 'a.b']],
  ['\\Q(', '', ['('], ['a']],
  ['\\x41\\x{1F600}\\o{101}', '', ['A😀A'], ['A😀']],
  ['\\0', '', [], ['a', '']],
  ['\\e\\a\\f\\cJ', '', ['\x1b\x07\x0c\n'], ['a']],
  ['\\é\\ \\_', '', ['é _'], ['e _']],
  ['\\.', '', ['.'], ['a']],
  ['\\d+(?:\\.\\d+)?%$', '', ['3.5%', '5%\n'], ['3.5']],
  ['^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$', 'i', ['a@b.CO'], ['a@b', 'a b@c.de']],
  ['.*foo.*bar', '', ['a foo b bar'], ['foo\nbar', 'bar foo']],
  ['(a+)+$', '', ['aaa'], ['aaab']],
  ['^(a+)+$', '', ['aaa', 'aaa\n'], ['aaab']],
  ['(x+x+)+y', '', ['xxy'], ['xy']],
]

test('patterns mean what they mean to PCRE2', () => {
  for (const [source, options, found, notFound] of answers) {
    const matches = matcherOf(pattern(source, options))
    for (const text of [...found, ...notFound])
      assert.equal(matches(text), found.includes(text), `${source} ${options} in ${JSON.stringify(text)}`)
  }
})

test('a character has the same other cases as in JavaScript', () => {
  // Unicode 15.1 folds these three to the characters before them; PCRE2 10.42 does not.
  const apart = new Set(['\u1fd3', '\u1fe3', '\ufb05', '\u0390', '\u03b0', '\ufb06'])
  const codes = Array.from({ length: 0x1_ea00 }, (_, code) => code)
  const cased = codes.map((code) => String.fromCodePoint(code)).filter((one) => /\p{CWCM}/u.test(one))
  const all = cased.join('')
  for (const character of cased.filter((one) => !apart.has(one))) {
    const folded = all.match(new RegExp(character, 'giu'))!
    const others = withOtherCases(setOf([[character.codePointAt(0)!, character.codePointAt(0)!]]))
    const found = others.flatMap(([from, to]) => codes.slice(from, to + 1))
    assert.equal(String.fromCodePoint(...found), folded.join(''), character)
  }
})

describe('a pattern is refused where', () => {
  const cases: [why: string, source: string, message: RegExp][] = [
    [
      'a look-ahead',
      'a(?=b)',
      /^The look-around "\(\?=" at character 2 of the pattern is not supported: .*linear/,
    ],
    ['a negative look-ahead', '(?!a)', /look-around "\(\?!"/],
    ['a look-behind', '(?<=a)b', /look-around "\(\?<="/],
    ['a negative look-behind', '(?<!a)b', /look-around/],
    ['a back reference', '(a)\\1', /^The back reference "\\1" at character 4/],
    ['a named back reference', '(?<n>a)\\k<n>', /back reference/],
    ["a back reference as Python's", '(?P<n>a)(?P=n)', /back reference/],
    ['a relative back reference', '(a)\\g{-1}', /back reference/],
    ['an atomic group', '(?>a+)b', /atomic group/],
    ['a possessive quantifier', 'a++b', /possessive quantifier "\+\+" at character 2/],
    ['recursion', 'a(?R)?b', /recursion/],
    ['recursion into a group', '(a(?1)?b)', /recursion/],
    ['recursion into a named group', '(?<n>a(?&n)?b)', /recursion/],
    ['a condition', '(a)?(?(1)b|c)', /conditional/],
    ['a verb', '(*ACCEPT)a', /verb/],
    ['a callout', 'a(?C1)b', /callout/],
    ['a line break of any kind', 'a\\Rb', /line break/],
    ['a grapheme cluster', '\\X', /grapheme/],
    ['a single byte', '\\C', /byte/],
    ['the start of the search', '\\Ga', /\\A/],
    ['the start of the match', 'a\\Kb', /leave it out/],
    ['a quantifier with nothing before it', '*a', /"\*" at character 1 of the pattern has nothing before it/],
    ['a quantifier after another one', 'a**', /follows another one/],
    ['a quantifier after a count', 'a{2}{3}', /follows another one/],
    ['a quantifier after an assertion', '^*a', /assertion "\^\*"/],
    ['a count in the wrong order', 'a{3,2}', /ends before it begins/],
    ['a count that newer versions know', 'a{,3}', /\{0,5\}/],
    ['a count over 1000', 'ba{1001}b', /over 1000/],
    ['counts in counts', 'b((a{20}){20}){20}b', /too large/],
    ['too much in counts', 'b(?:[ab]c?){200}b', /too large/],
    ['too many sets', 'a\\pL'.repeat(40), /too large/],
    ['a group without an end', '(a', /group "\(a" at character 1 .* no \)/],
    ['an end without a group', 'a)', /"\)" at character 2/],
    ['groups that are too deep', `${'('.repeat(51)}${')'.repeat(51)}`, /deeper than 50/],
    ['a class without an end', 'x[a', /class "\[a" at character 2 .* no \]/],
    ['a range in the wrong order', '[z-a]', /range/],
    ['a range from a set', '[\\d-z]', /hyphen/],
    ['a range to a set', '[a-\\d]', /hyphen/],
    ['an unknown class', '[[:foo:]]', /known/],
    ['a collating element', '[[.a.]]', /\\\[/],
    ['a class outside of a class', '[:alpha:]', /outside/],
    ['a class that PCRE2 misreads', '[\\D[:alpha:]]', /mixes/],
    ['a property of the case without case', '(?i)\\p{Lu}', /option i/],
    ['an unknown property', '\\p{Foo}', /property/],
    ['an unknown escape', '\\y', /escape "\\y" at character 1 .* means nothing/],
    ['a lone backslash', 'a\\', /backslash/],
    ['an escape without digits', '\\x', /digits/],
    ['an escape of no character', '\\x{D800}', /not a character/],
    ['an octal escape in a class', '[\\1]', /\\x01/],
    ['an unknown option inside', '(?J)a', /options/],
    ['option xx inside', '(?xx)a', /xx/],
    ['a name twice', '(?<n>a)(?<n>b)', /twice/],
    ['$ before the end', 'a$b', /\$/],
    ['U+0000', 'a\0', /U\+0000/],
    ['half a surrogate pair', '\ud83d', /surrogate/],
    ['over 1000 characters', 'a'.repeat(1001), /1000 characters/],
  ]
  for (const [why, source, message] of cases)
    test(why, () => {
      const issue = refusal(source)
      assert.match(issue.message, message)
      assert.equal(issue.path, AT)
    })

  test('an option that there is not', () => {
    assert.deepEqual(refusal('a', 'ig'), {
      path: '/query/filter/v/$options',
      message: '"g" is not an option of patterns; these are: i m s x u.',
    })
  })
})

test('patterns that are too large only together', () => {
  const filter = (count: number): string =>
    JSON.stringify({ $or: Array.from({ length: count }, () => ({ v: { $regex: 'a[bc]{100}d' } })) })
  assert.doesNotThrow(() => parseFilter(filter(2)))
  assert.throws(() => parseFilter(filter(3)), /\$or\/2\/v\/\$regex.* too large together/)
})

test('what an anchored pattern begins with is a range of an index', () => {
  const cases: [source: string, options: string, expected: ReturnType<typeof prefixOf>][] = [
    ['^abc', '', { prefix: 'abc', whole: true }],
    ['^abc.*', 's', { prefix: 'abc', whole: true }],
    ['\\Aabc', 'm', { prefix: 'abc', whole: true }],
    ['^ab\\.c\\d', '', { prefix: 'ab.c', whole: false }],
    ['^😀$', '', { prefix: '😀', whole: false }],
    ['^1', 'i', { prefix: '1', whole: true }],
    ['^a', 'i', undefined],
    ['^a', 'm', undefined],
    ['a', '', undefined],
    ['^a|^b', '', undefined],
    ['^', '', undefined],
  ]
  for (const [source, options, expected] of cases)
    assert.deepEqual(prefixOf(pattern(source, options)), expected, `${source} ${options}`)
})

describe('no text takes longer than linear time', () => {
  const LENGTH = 16_384
  const attacks: [source: string, unit: string, end: string][] = [
    ['(a+)+$', 'a', 'b'],
    ['^(a+)+$', 'a', 'b'],
    ['b(a|a)*b', 'a', ''],
    ['^(.*)*x', 'a', ''],
    ['^(a|ab|b)*c', 'ab', ''],
    ['^(.*,){11}P', '1,', ''],
    ['(x+x+)+y', 'x', ''],
    ['a.*a.*a.*b', 'a', ''],
    ['\\s+$', ' ', 'x'],
    ['^.*foo$', 'foo', 'x'],
    ['(a?){50}a{50}b', 'a', ''],
    ['a[ab]{100}c[abc]d', 'ab', 'cd'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a', ''],
    ['(?:a|b|ab)*(?:a|b|ab)*c', 'ab', 'd'],
  ]
  const millisecondsOf = (source: string, text: string): number => {
    const times = Array.from({ length: 3 }, () => {
      const matches = matcherOf(pattern(source))
      const start = performance.now()
      matches(text)
      return performance.now() - start
    })
    return Math.min(...times)
  }
  for (const [source, unit, end] of attacks)
    test(source, () => {
      const text = (length: number): string => unit.repeat(length / unit.length) + end
      // Eight times the text would take 64 times as long in quadratic time.
      const [short, long] = [LENGTH, 8 * LENGTH].map((length) => millisecondsOf(source, text(length)))
      assert.ok(long! < 24 * Math.max(short!, 1), `${short} ms, then ${long} ms`)
    })
})
