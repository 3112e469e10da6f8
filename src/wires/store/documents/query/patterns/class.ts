import { characters, complement, setOf, union, type CharacterSet, type Range } from './character-set.ts'
import { readEscape, type Escaped } from './escapes.ts'
import type { Source } from './source.ts'
import { withOtherCases } from './unicode.ts'

const POSIX: Readonly<Record<string, CharacterSet>> = {
  alnum: characters('0-9A-Za-z'),
  alpha: characters('A-Za-z'),
  ascii: characters('\x01-\x7f'),
  blank: characters('\t '),
  cntrl: characters('\x01-\x1f\x7f'),
  digit: characters('0-9'),
  graph: characters('!-~'),
  lower: characters('a-z'),
  print: characters(' -~'),
  punct: characters('!-/:-@[-`{-~'),
  space: characters('\t-\r '),
  upper: characters('A-Z'),
  word: characters('0-9A-Za-z_'),
  xdigit: characters('0-9A-Fa-f'),
}

/** Reads a class behind its `[`, as far as its `]`. */
export function readClass(source: Source, i: boolean): CharacterSet {
  const from = source.at - 1
  if (source.take(/([:.=])[^\]]*\1\]/y))
    source.refuse(from, 'The class', 'stands outside of a class: write [[:alpha:]].')
  const negated = source.skip('^')
  const first = source.at
  const ranges: Range[] = []
  const sets: CharacterSet[] = []
  while (source.at === first || !source.skip(']')) {
    if (source.atEnd) source.refuse(from, 'The class', 'has no ] at its end.')
    const item = readItem(source, i)
    if ('code' in item) ranges.push([item.code, readRangeEnd(source, item.code, i)])
    else {
      sets.push(item.set)
      if (rangeFollows(source))
        source.refuse(
          source.at,
          'The hyphen',
          'stands behind a set: write \\- or put it at the end of the class.',
        )
    }
  }
  if (isMistakenByPcre(source.text.slice(first, source.at)))
    source.refuse(
      from,
      'The class',
      'mixes \\D, \\S, \\W or [:^…:] with \\p or [:…:], where MongoDB may go wrong: write (?:[…]|[…]).',
    )
  const single = setOf(ranges)
  const set = union(i ? withOtherCases(single) : single, ...sets)
  return negated ? complement(set) : set
}

/** PCRE2 10.42 forgets what such a class has beyond U+00FF: it finds no Σ by [\\D[:alpha:]]. */
const isMistakenByPcre = (text: string): boolean => /\\[DSW]|\[:\^/.test(text) && /\\[Pp]|\[:[a-z]/.test(text)

/** A hyphen is itself at the end of a class. */
const rangeFollows = (source: Source): boolean => source.startsWith('-') && !source.startsWith('-]')

function readRangeEnd(source: Source, code: number, i: boolean): number {
  if (!rangeFollows(source)) return code
  const from = source.at
  source.skip('-')
  if (source.atEnd) return code // the class has no end, which is found next
  const last = readItem(source, i)
  if (!('code' in last))
    source.refuse(from, 'The hyphen', 'stands before a set: write \\- or put it at the end of the class.')
  if (last.code < code) source.refuse(from, 'The range', 'ends before it begins.')
  return last.code
}

function readItem(source: Source, i: boolean): Escaped {
  const from = source.at
  if (source.skip('\\'))
    return source.skip('b') ? { code: 8 } : readEscape(source, from, { inClass: true, i })
  const posix = source.take(/\[:(\^?)([a-z]+):\]/y)
  if (posix) {
    const [, caret, name] = posix
    const set = i && (name === 'upper' || name === 'lower') ? POSIX['alpha'] : POSIX[name!]
    if (!set) source.refuse(from, 'The class', `is not known; these are: ${Object.keys(POSIX).join(' ')}.`)
    return { set: caret ? complement(set) : set }
  }
  if (source.take(/\[[:.=]/y)) source.refuse(from, 'The class', 'is not supported: write \\[ for a bracket.')
  return { code: source.next().codePointAt(0)! }
}
