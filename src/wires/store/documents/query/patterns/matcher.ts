import type { Pattern } from '../filter.ts'
import { literalOf, type Literal } from './literal.ts'
import { nativeExpression } from './native.ts'
import { re2Matcher } from './re2.ts'
import { readPattern } from './read.ts'

/**
 * A function that tells whether a text has a match, in time linear to its length. Making it takes up to a few milliseconds:
 * keep it for the texts of a query.
 */
export function matcherOf(pattern: Pattern): (text: string) => boolean {
  const tree = readPattern(pattern)
  const literal = literalOf(tree)
  if (literal) return literalMatcher(literal)
  const native = nativeExpression(tree)
  return native ? (text) => native.test(text) : re2Matcher(tree)
}

function literalMatcher({
  text: literal,
  atStart,
  atEnd,
  beforeLineFeed,
}: Literal): (text: string) => boolean {
  const line = `${literal}\n`
  if (atStart && atEnd) return (text) => text === literal || (beforeLineFeed && text === line)
  if (atStart) return (text) => text.startsWith(literal)
  if (atEnd) return (text) => text.endsWith(literal) || (beforeLineFeed && text.endsWith(line))
  return (text) => text.includes(literal)
}
