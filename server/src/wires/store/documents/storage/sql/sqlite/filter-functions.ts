// The threads of SQLite load this; what it needs it loads with the first call, because most filters never call it.
import { requireModule } from '../../../../../../base/asset.ts'
import { parseJson } from '../../../../../../base/json.ts'
import { partsIn, type FieldFilter } from '../../../language/query/filter.ts'
import type * as Matcher from '../../../language/query/matcher.ts'
import type * as Patterns from '../../../language/query/patterns/pattern-matcher.ts'
import { createConstants } from './constants.ts'

const loadMatcher = () => requireModule('wires/store/documents/language/query/matcher') as typeof Matcher
const loadPatterns = () =>
  requireModule('wires/store/documents/language/query/patterns/pattern-matcher') as typeof Patterns

const matchers = createConstants((text) => {
  const { compileMatcher } = loadMatcher()
  const { bytesOfPattern } = loadPatterns()
  const filter = parseJson(text) as FieldFilter
  const name = filter.path[0]!
  const matches = compileMatcher(filter)
  let bytes = 0
  for (const part of partsIn(filter)) if (part.kind === 'pattern') bytes += bytesOfPattern(part.pattern)
  return { value: (json: string) => matches({ [name]: parseJson(json) }), bytes }
})

const patterns = createConstants((text) => {
  const { bytesOfPattern, matcherOf } = loadPatterns()
  const pattern = parseJson(text) as Patterns.PatternExpression
  return { value: matcherOf(pattern), bytes: bytesOfPattern(pattern) }
})

/** SQLite's; a number would be a double to it. */
const booleanOf = (value: boolean): bigint => (value ? 1n : 0n)

export const filterFunctions = {
  /** @param filter JSON of a filter of one field */
  store_matcher: (filter: string): bigint => matchers.numberOf(filter),

  /**
   * Whether a document passes a filter of one field.
   *
   * @param json the value of the first part of its path
   * @param matcher of `store_matcher`
   */
  store_matches: (json: string, matcher: number): bigint => booleanOf(matchers.value(matcher)(json)),

  /** @param pattern JSON of the expression of a pattern */
  store_pattern: (pattern: string): bigint => patterns.numberOf(pattern),

  /** @param pattern of `store_pattern` */
  store_matches_pattern: (text: string | null, pattern: number): bigint =>
    booleanOf(text !== null && patterns.value(pattern)(text)),
}
