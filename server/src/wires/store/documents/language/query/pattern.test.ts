import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../../base/errors.ts'
import { parseFilter } from './parse-filter.ts'
import { parsePattern } from './pattern.ts'
import { setOf } from './patterns/character-set.ts'
import { matcherOf } from './patterns/pattern-matcher.ts'
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

/**
 * What PCRE2 10.42 itself answered in UTF mode: the texts with a match and those without. Only `^` with option m differs: it
 * is also after a line feed at the end.
 */
const answers: [source: string, options: string, found: string[], notFound: string[]][] = [
  ['', '', ['', 'a'], []],
  ['b.d', '', ['abcde', 'b😀d'], ['b\nd', 'bd']],
  ['b.d', 's', ['b\nd'], []],
  ['^a', '', ['a'], ['ba', '\na']],
  ['^a', 'm', ['b\na'], ['ba']],
  ['a$', '', ['a', 'a\n'], ['a\n\n', 'a\nb', 'ab']],
  ['a$', 'm', ['a\nb', 'a\n\n'], ['ab']],
  ['a\\z', '', ['a'], ['a\n']],
  ['\\Aa', 'm', ['a'], ['b\na']],
  ['^$', '', ['', '\n'], ['\n\n', 'a']],
  ['^$', 'm', ['', 'a\n\nb', 'a\n\n', '\n', 'a\n'], ['a']],
  ['^\\s*$', 'm', ['a\n ', 'a\n\nb', ' \n', 'a\n'], ['a']],
  ['(?:^a*\\n?)+$', 'm', ['b\na\n', 'b\n'], ['b']],
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
  ['^[à-\\x{10ffff}]$', 'i', ['À', 'à'], ['a']],
  ['^[\\x{80}-\\x{10ffff}]$', 'i', ['k', '\u212a'], ['x']],
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
  ['\\pL', '', ['é', '中'], ['1']],
  ['\\p{Lu}', '', ['É'], ['é']],
  ['\\P{Lu}', '', ['é'], ['É']],
  ['[\\pL\\d]', '', ['é', '1'], [' ']],
  ['\\p{Greek}', '', ['α'], ['a']],
  ['\\p{Han}', '', ['中'], ['a']],
  ['[]a]', '', [']', 'a'], ['[']],
  ['[^]a]', '', ['b'], [']']],
  ['[a-]', '', ['-', 'a'], ['b']],
  ['[a-c-e]', '', ['-', 'e'], ['d']],
  ['[\\w-]', '', ['-'], ['+']],
  ['[\\n\\x41-\\x43]', '', ['B', '\n'], ['D']],
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
  ['\x85a\u2028b', 'x', ['ab', '\x85ab'], []],
  ['\\x41\\x{1F600}\\x4a', '', ['A😀J'], ['A😀']],
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

test('a character is one with its capital and small letters', () => {
  const casesOf = (text: string): string[] => {
    const set = withOtherCases(setOf([[text.codePointAt(0)!, text.codePointAt(0)!]]))
    return set.flatMap(([from, to]) =>
      Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)),
    )
  }
  const codes = Array.from({ length: 0x1_ea00 }, (_, code) => String.fromCodePoint(code))
  const cased = codes.filter((one) => /\p{Changes_When_Casemapped}/u.test(one))
  assert.ok(cased.length > 2800)
  for (const one of cased) {
    const all = casesOf(one)
    for (const other of [one.toLowerCase(), one.toUpperCase()].filter(
      (other) => Array.from(other).length === 1,
    ))
      if (one !== 'ı') assert.ok(all.includes(other), `${one} ${other}`)
    for (const other of all) assert.deepEqual(casesOf(other), all)
  }
  assert.deepEqual(['ı', 'İ'].flatMap(casesOf), ['ı', 'İ'])
})

describe('a pattern is refused, and what is wrong is named, for', () => {
  const cases: [why: string, source: string, message: RegExp][] = [
    ['a look-ahead', 'a(?=b)', /^The look-around "\(\?=" at character 2 of the pattern is not supported\.$/],
    ['a negative look-ahead', '(?!a)', /look-around "\(\?!"/],
    ['a look-behind', '(?<=a)b', /look-around "\(\?<="/],
    ['a negative look-behind', '(?<!a)b', /look-around "\(\?<!"/],
    ['a back reference', '(a)\\1', /^The back reference "\\1" at character 4/],
    ['a named back reference', '(a)\\k<n>', /back reference "\\k"/],
    ["a back reference as Python's", '(a)(?P=n)', /back reference "\(\?P="/],
    ['a relative back reference', '(a)\\g{-1}', /back reference "\\g"/],
    ['a named group', '(?<year>\\d{4})', /named group "\(\?<" at character 1 .*: write \(\.$/],
    ["a named group as Python's", '(?P<year>\\d{4})', /named group/],
    ["a named group as Perl's", "(?'year'\\d{4})", /named group/],
    ['an atomic group', '(?>a+)b', /atomic group "\(\?>"/],
    ['a possessive quantifier', 'a++b', /possessive quantifier "\+\+" at character 2/],
    ['a possessive count', 'a{2,3}+b', /possessive quantifier "\{2,3\}\+"/],
    ['recursion', 'a(?R)?b', /recursion "\(\?R"/],
    ['recursion into a group', '(a(?1)?b)', /recursion/],
    ['recursion into a named group', '(a(?&n)?b)', /recursion/],
    ['a condition', '(a)?(?(1)b|c)', /group "\(\?\(1" at character 5/],
    ['a verb', '(*ACCEPT)a', /group "\(\*" at character 1/],
    ['a callout', 'a(?C1)b', /group "\(\?C1" at character 2/],
    ['a group that resets numbers', '(?|a(b)|c(d))', /group "\(\?\|a\(b"/],
    ['a comment in parentheses', 'a(?#why)b', /comment "\(\?#" .* option x/],
    ['a quotation', '\\Qa.b*\\E+', /quotation "\\Q" at character 1 .* backslash/],
    ['the end of a quotation', 'a\\E', /quotation "\\E"/],
    ['a line break of any kind', 'a\\Rb', /escape "\\R" at character 2/],
    ['a grapheme cluster', '\\X', /escape "\\X"/],
    ['a single byte', '\\C', /escape "\\C"/],
    ['all but a line break', '\\N', /escape "\\N"/],
    ['horizontal space', '\\h', /escape "\\h"/],
    ['vertical space', '\\v', /escape "\\v"/],
    ['an octal escape', '\\012', /escape "\\0"/],
    ['an octal escape in braces', '\\o{101}', /escape "\\o"/],
    ['a control character', '\\cJ', /escape "\\c"/],
    ['a bell', '\\a', /escape "\\a"/],
    ['a backspace in a class', '[\\b]', /escape "\\b" at character 2/],
    ['the start of the search', '\\Ga', /place "\\G" .*\\A/],
    ['the start of the match', 'a\\Kb', /place "\\K"/],
    ['the end before a line feed', 'a\\Z', /place "\\Z" .* \$ for/],
    ['many large sets', `[${'\\pL'.repeat(330)}]`, /class .* too many ranges/],
    ['a POSIX class', '[a[:alpha:]]', /POSIX class "\[:" at character 3 .*\\p\{L\}/],
    ['a POSIX class outside of a class', '[:alpha:]', /POSIX class "\[:alpha:\]"/],
    ['a collating element', '[[.a.]]', /POSIX class .*\\\[/],
    ['a quantifier with nothing before it', '*a', /quantifier "\*" at character 1 .* nothing to repeat/],
    ['a count with nothing before it', '(?:{2}a)', /quantifier "\{2\}" at character 4 .* nothing to repeat/],
    ['a quantifier after another one', 'a**', /quantifier "\*" at character 3 .* nothing to repeat/],
    ['a quantifier after a count', 'a{2}{3}', /nothing to repeat/],
    ['a quantifier after an assertion', '^*a', /quantifier "\*" at character 2 .* nothing to repeat/],
    ['a count in the wrong order', 'a{3,2}', /ends before it begins/],
    ['a count that newer versions of PCRE2 know', 'a{,3}', /quantifier "\{,3\}" .*\{0,5\}/],
    ['a count over 255', 'ba{256}b', /quantifier "\{256\}" at character 3 of the pattern is over 255/],
    ['counts in counts', 'b((a{20}){20}){20}b', /too large/],
    ['too much in counts', 'b(?:[ab]c?){200}b', /too large/],
    ['too many sets', 'a\\pL'.repeat(250), /too large/],
    ['a group without an end', '(a', /group "\(a" at character 1 .* no \)/],
    ['an end without a group', 'a)', /"\)" at character 2/],
    ['groups that are too deep', `${'('.repeat(51)}${')'.repeat(51)}`, /deeper than 50/],
    ['a class without an end', 'x[a', /class "\[a" at character 2 .* no \]/],
    ['a range without an end', 'x[a-', /class "\[a-" at character 2 .* no \]/],
    ['a range in the wrong order', '[z-a]', /range "z-a" at character 2/],
    ['a range from a set', '[\\d-z]', /range "\\d-z" .*hyphen/],
    ['a range to a set', '[a-\\d]', /range "a-\\d"/],
    ['a property of the case without case', '(?i)\\p{Lu}', /option i/],
    ['an unknown property', '\\p{Foo}', /property "\\p\{Foo\}"/],
    ['a property of what has no script', '\\p{Common}', /property/],
    ['an unknown escape', '\\y', /escape "\\y" at character 1 of the pattern is not supported\.$/],
    ['a lone backslash', 'a\\', /backslash/],
    ['a lone backslash in a class', '[a\\', /backslash/],
    ['an escape without digits', '\\x', /escape "\\x"/],
    ['an escape of no character', '\\x{D800}', /not a character/],
    ['an unknown option inside', '(?J)a', /group "\(\?J" .*options/],
    ['option xx inside', '(?xx)a', /group "\(\?xx"/],
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
  const cases: [source: string, options: string, expected: ReturnType<typeof pattern>['prefix']][] = [
    ['^abc', '', { text: 'abc', whole: true }],
    ['^abc.*', 's', { text: 'abc', whole: true }],
    ['\\Aabc', 'm', { text: 'abc', whole: true }],
    ['^ab\\.c\\d', '', { text: 'ab.c', whole: false }],
    ['^😀$', '', { text: '😀', whole: false }],
    ['^1', 'i', { text: '1', whole: true }],
    ['^a', 'i', undefined],
    ['^a', 'm', undefined],
    ['a', '', undefined],
    ['^a|^b', '', undefined],
    ['^', '', undefined],
  ]
  for (const [source, options, expected] of cases)
    assert.deepEqual(pattern(source, options).prefix, expected, `${source} ${options}`)
})

test('what backtracks gets nothing that is repeated, and few choices', () => {
  const cases: [source: string, expression: string | undefined][] = [
    ['^Mo', '^Mo'],
    ['.*foo.*', 'foo'],
    ['[a-z]+\\d{2,4}', '[a-z][0-9][0-9]'],
    ['^https?:', '^http(?:s|):'],
    ['^(?:cat|dog)\\b', '^(?:cat|dog)\\b'],
    ['ab{1,3}c', 'ab(?:b|)(?:b|)c'],
    ['a.*b', undefined],
    ['\\pL'.repeat(10), undefined],
    ['^a*$', undefined],
    ['^\\d{100}', undefined],
    ['(?:a|a)'.repeat(10), undefined],
    ['^(?:a?){12}a', undefined],
  ]
  for (const [source, expression] of cases) {
    const { engine, ...written } = pattern(source)
    assert.equal(engine === 'javascript' ? written.expression : undefined, expression, source)
  }
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
      // Eight times the text would take 64 times as long in quadratic time, and 10 s or more.
      const [short, long] = [LENGTH, 8 * LENGTH].map((length) => millisecondsOf(source, text(length)))
      assert.ok(long! < 24 * Math.max(short!, 40), `${short} ms, then ${long} ms`)
    })
})
