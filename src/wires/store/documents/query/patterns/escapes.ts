import { characters, complement, setOf, type CharacterSet } from './character-set.ts'
import type { Source } from './source.ts'
import { propertySet } from './unicode.ts'

/** PCRE2 without UCP: `\d`, `\s` and `\w` are ASCII. */
export const DIGIT = characters('0-9')
export const SPACE = characters('\t-\r ')
export const WORD = characters('0-9A-Za-z_')
export const LINE_FEED = characters('\n')

const HORIZONTAL_SPACE = setOf([
  [0x09, 0x09],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x180e, 0x180e],
  [0x2000, 0x200a],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
])
const VERTICAL_SPACE = setOf([
  [0x0a, 0x0d],
  [0x85, 0x85],
  [0x2028, 0x2029],
])

const SETS: Readonly<Record<string, CharacterSet>> = {
  d: DIGIT,
  s: SPACE,
  w: WORD,
  h: HORIZONTAL_SPACE,
  v: VERTICAL_SPACE,
}

const CODES: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }

const LINEAR = 'is not supported: patterns are matched in linear time.'

/** What PCRE2 knows and is not supported. */
const REFUSED: Readonly<Record<string, readonly [what: string, rest: string]>> = {
  g: ['The back reference or recursion', LINEAR],
  k: ['The back reference', LINEAR],
  C: ['The single byte', 'is not supported: write . with option s for a character.'],
  E: ['The end of a quotation', 'has no \\Q before it.'],
  G: ['The start of the search', 'is not supported: write \\A.'],
  K: [
    'The start of the match',
    'is not supported: leave it out, a filter only asks whether there is a match.',
  ],
  Q: ['The quotation', 'is not supported in a class: write a backslash before each special character.'],
  R: ['The line break', 'is not supported: write (?:\\r\\n|[\\n\\x0b\\f\\r\\x85\\x{2028}\\x{2029}]).'],
  X: ['The grapheme cluster', 'is not supported: write . for a character.'],
}

/** A single character or one of a set of characters. */
export type Escaped = { readonly code: number } | { readonly set: CharacterSet }

/**
 * Reads an escape that stands for one character, behind its backslash, the same inside and outside of a class.
 *
 * @param from where the backslash is
 */
export function readEscape(source: Source, from: number, options: { inClass: boolean; i: boolean }): Escaped {
  if (source.atEnd) source.refuse(from, 'The backslash', 'has nothing after it: write \\\\ for a backslash.')
  const letter = source.next()
  if (!/[A-Za-z0-9]/.test(letter)) return { code: letter.codePointAt(0)! }
  const lower = letter.toLowerCase()
  if (Object.hasOwn(SETS, lower)) {
    const set = SETS[lower]!
    return { set: letter === lower ? set : complement(set) }
  }
  if (Object.hasOwn(CODES, letter)) return { code: CODES[letter]! }
  switch (letter) {
    case 'N':
      if (options.inClass || source.startsWith('{')) break
      return { set: complement(LINE_FEED) }
    case 'p':
    case 'P':
      return { set: readProperty(source, from, letter === 'P', options.i) }
    case 'x':
      return { code: readHexadecimal(source, from) }
    case 'o': {
      const digits = source.take(/\{([0-7]+)\}/y)
      if (!digits) source.refuse(from, 'The escape', 'lacks its digits: write \\x{41}.')
      return { code: checkedCode(source, from, parseInt(digits[1]!, 8)) }
    }
    case 'c': {
      const control = source.take(/[ -~]/y)
      if (!control) source.refuse(from, 'The escape', 'lacks its letter: write \\x09.')
      return { code: control[0].toUpperCase().charCodeAt(0) ^ 0x40 }
    }
    case '0':
      return { code: parseInt(source.take(/[0-7]{0,2}/y)![0] || '0', 8) }
  }
  if (letter >= '1' && letter <= '9') {
    if (options.inClass) source.refuse(from, 'The escape', 'is not supported in a class: write \\x01.')
    source.refuse(from, 'The back reference', LINEAR)
  }
  const refused = Object.hasOwn(REFUSED, letter) ? REFUSED[letter] : undefined
  if (refused && !(options.inClass && letter !== 'Q' && letter !== 'E')) source.refuse(from, ...refused)
  return source.refuse(from, 'The escape', options.inClass ? 'means nothing in a class.' : 'means nothing.')
}

function readHexadecimal(source: Source, from: number): number {
  const braced = source.take(/\{([0-9A-Fa-f]+)\}/y)
  if (braced) return checkedCode(source, from, parseInt(braced[1]!, 16))
  const digits = source.startsWith('{') ? undefined : source.take(/[0-9A-Fa-f]{1,2}/y)
  if (!digits) source.refuse(from, 'The escape', 'lacks its digits: write \\x41 or \\x{1F600}.')
  return parseInt(digits[0], 16)
}

function checkedCode(source: Source, from: number, code: number): number {
  if (code > 0x10_ffff || (code >= 0xd800 && code <= 0xdfff))
    source.refuse(from, 'The escape', 'is not a character of Unicode.')
  return code
}

/** `\pL`, `\p{Lu}`, `\p{^Lu}`, `\p{Greek}`. */
function readProperty(source: Source, from: number, negated: boolean, i: boolean): CharacterSet {
  const match = source.take(/([A-Z])|\{(\^?)([A-Za-z_&]+)\}/y)
  if (!match) source.refuse(from, 'The property', 'lacks its name: write \\p{L} or \\p{Greek}.')
  const [, letter, caret, braced] = match
  const name = letter ?? braced!
  if (i && /^L[ultC&]$/.test(name))
    source.refuse(from, 'The property', 'is not supported with option i: write \\p{L}.')
  const set = propertySet(name)
  if (!set) source.refuse(from, 'The property', 'is not supported: general categories and scripts are.')
  return negated !== (caret === '^') ? complement(set) : set
}
