import type { Pattern } from '../filter.ts'
import type { CharacterSet } from './character-set.ts'
import { WORD } from './escapes.ts'
import { hexadecimal, printSet, printTree, quantifier, type PatternDialect } from './print.ts'
import { readPattern } from './read.ts'

const escape = (code: number): string =>
  code > 0xffff ? `\\U${hexadecimal(code, 8)}` : `\\u${hexadecimal(code, 4)}`

function postgresSet(set: CharacterSet): string {
  if (set.length === 0) return '[^\\u0001-\\U0010ffff]'
  const printed = printSet(set, escape)
  return printed === '[^]' ? '.' : printed
}

const word = postgresSet(WORD)

/** PostgreSQL counts to 255. */
const MAX_COUNT = 250

const counted = (atom: string, count: number, bounds: (part: number) => string): string =>
  Array.from(
    { length: Math.ceil(count / MAX_COUNT) },
    (_, i) => atom + bounds(Math.min(MAX_COUNT, count - i * MAX_COUNT)),
  ).join('')

const dialect: PatternDialect = {
  set: postgresSet,
  assertions: {
    start: '^',
    end: '$',
    lastLineEnd: '\\u000a?$',
    lineStart: '(?:^|(?<=\\u000a)(?=.))',
    lineEnd: '(?:$|(?=\\u000a))',
    // PostgreSQL's own \y and \w go by the locale.
    wordEdge: `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`,
    noWordEdge: `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`,
  },
  repeat: (atom, min, max) => {
    if (min <= MAX_COUNT && (max <= MAX_COUNT || max === Infinity)) return `${atom}${quantifier(min, max)}`
    const least = counted(atom, min, (part) => `{${part}}`)
    const more = max === Infinity ? `${atom}*` : counted(atom, max - min, (part) => `{0,${part}}`)
    return `(?:${least}${more})`
  },
}

/**
 * The pattern as an advanced regular expression of PostgreSQL, for `~` and for jsonpath's `like_regex` with flag "s".
 * There is one for every pattern.
 * https://www.postgresql.org/docs/current/functions-matching.html#POSIX-SYNTAX-DETAILS
 */
export function postgresPattern(pattern: Pattern): string {
  let text = texts.get(pattern)
  if (text === undefined) texts.set(pattern, (text = printTree(readPattern(pattern), dialect)))
  return text
}

// A path with indexes is printed several times.
const texts = new WeakMap<Pattern, string>()
