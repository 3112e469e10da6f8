import { invalid } from '../../../../base/errors.ts'
import type { Pattern } from './filter.ts'
import { quote } from './path.ts'
import { MAX_PATTERN_COST, MAX_PATTERN_RANGES, PatternFault, readPattern } from './patterns/read.ts'
import { costOf, rangesOf } from './patterns/tree.ts'

export { MAX_PATTERN_COST, MAX_PATTERN_RANGES }
export { matcherOf } from './patterns/matcher.ts'
export { postgresPattern } from './patterns/postgres.ts'
export { prefixOf } from './patterns/prefix.ts'

/** What a pattern costs at worst, and how many ranges of characters it is written with: see `MAX_PATTERN_COST`. */
export function sizeOfPattern(pattern: Pattern): { cost: number; ranges: number } {
  const tree = readPattern(pattern)
  return { cost: costOf(tree), ranges: rangesOf(tree) }
}

/** About how much memory a compiled pattern takes, as measured. */
export function bytesOfPattern(pattern: Pattern): number {
  const { cost, ranges } = sizeOfPattern(pattern)
  return 350 * cost + 16 * ranges
}

/** RE2 and PostgreSQL compile a pattern of this length in a few milliseconds. */
const MAX_LENGTH = 1000

/**
 * Checks a pattern in MongoDB's syntax (PCRE2 in UTF mode) and its options. What cannot be matched in linear time, or would
 * mean something else on one of the engines, is refused.
 *
 * @param at JSON pointer of the pattern, named in the error
 * @param optionsAt JSON pointer of the options
 * @throws VALIDATION_ERROR
 */
export function parsePattern(source: string, options: string, at: string, optionsAt = at): Pattern {
  const unknown = Array.from(options).find((letter) => !'imsxu'.includes(letter))
  if (unknown !== undefined)
    throw invalid({
      path: optionsAt,
      message: `${quote(unknown)} is not an option of patterns; these are: i m s x u.`,
    })
  if (source.length > MAX_LENGTH)
    throw invalid({ path: at, message: `A pattern has at most ${MAX_LENGTH} characters.` })
  const pattern: Pattern = {
    source,
    flags: {
      i: options.includes('i'),
      m: options.includes('m'),
      s: options.includes('s'),
      x: options.includes('x'),
    },
  }
  try {
    readPattern(pattern)
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    throw invalid({ path: at, message: error.message })
  }
  return pattern
}
