import { invalid } from '../../../../../base/errors.ts'
import type { Pattern } from './filter.ts'
import { quote } from './path.ts'
import { javascript, postgres, printTree, re2 } from './patterns/print-pattern.ts'
import { PatternFault, readPattern } from './patterns/read-pattern.ts'
import { costOf, endsAtLineEnds, prefixOf, trimEnds, waysOf } from './patterns/pattern-tree.ts'

/** RE2 and PostgreSQL compile a pattern of this length in a few milliseconds. */
const MAX_LENGTH = 1000
/** What all patterns of a filter may cost together: some 5 s for a text of 1 MiB at the very worst. See `costOf`. */
export const MAX_PATTERN_COST = 1000
/** Likewise of how many characters they are written with: 30 times `\p{L}`. */
export const MAX_PATTERN_LENGTH = 70_000

/** Steps that JavaScript may take at each character of a text. */
const MAX_STEPS = 200
/** It compiles large classes slowly: ten times `\p{L}` in 0.6 s. */
const MAX_JAVASCRIPT_LENGTH = 10_000

/**
 * Checks a pattern in MongoDB's syntax (a subset of PCRE2's in UTF mode) and its options, and writes it for each engine. What
 * cannot be matched in linear time, or would mean something else on one of the engines, is refused.
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
  try {
    return writePattern(source, options)
  } catch (error) {
    if (!(error instanceof PatternFault)) throw error
    throw invalid({ path: at, message: error.message })
  }
}

function writePattern(source: string, options: string): Pattern {
  const tree = trimEnds(readPattern(source, options))
  const cost = costOf(tree)
  if (cost > MAX_PATTERN_COST)
    throw new PatternFault(
      'The pattern is too large: with its repetitions written out it has too many parts. Use lower counts.',
    )
  if (!endsAtLineEnds(tree))
    throw new PatternFault(
      'The pattern has $ before its end: write \\z for the end of the text, or $ with option m for the end of a line.',
    )
  const forJavascript = waysOf(tree) * cost <= MAX_STEPS ? printTree(tree, javascript) : undefined
  const isJavascript = forJavascript !== undefined && forJavascript.length <= MAX_JAVASCRIPT_LENGTH
  return {
    source,
    engine: isJavascript ? 'javascript' : 're2',
    expression: isJavascript ? forJavascript : printTree(tree, re2),
    postgres: printTree(tree, postgres),
    cost,
    prefix: prefixOf(tree),
  }
}
