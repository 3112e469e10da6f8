// The threads of SQLite load this; what it needs it loads with the first call, because most filters never call it.
import { createRequire } from 'node:module'

import type { Filter, Pattern } from '../filter.ts'
import type * as Matcher from '../matcher.ts'
import type * as Patterns from '../pattern.ts'

const load = createRequire(import.meta.url)

// A filter has no more conditions, and a thread runs one query at a time.
const COMPILED_MAX = 200

/** Compiles a text that is an argument again with each row. */
function cached<T>(compile: (text: string) => T): (text: string) => T {
  const compiled = new Map<string, T>()
  let last: { text: string; value: T } | undefined
  return (text) => {
    // To compare a text with the last one is quicker than to hash it.
    if (last?.text === text) return last.value
    let value = compiled.get(text)
    if (value === undefined) {
      if (compiled.size === COMPILED_MAX) compiled.clear()
      value = compile(text)
      compiled.set(text, value)
    }
    last = { text, value }
    return value
  }
}

const matcherOf = cached((text) => {
  const { compileMatcher } = load('../matcher.ts') as typeof Matcher
  const filter = JSON.parse(text) as Extract<Filter, { kind: 'field' }>
  const name = filter.path[0]!
  const matches = compileMatcher(filter)
  return (json: string) => matches({ [name]: JSON.parse(json) as unknown })
})

const patternOf = cached((text) => {
  const { matcherOf } = load('../pattern.ts') as typeof Patterns
  return matcherOf(JSON.parse(text) as Pattern)
})

/** SQLite's; a number would be a double to it. */
const booleanOf = (value: boolean): bigint => (value ? 1n : 0n)

export const filterFunctions = {
  /**
   * Whether a document passes a filter of one field.
   *
   * @param json the value of the first part of its path
   * @param filter JSON of it
   */
  store_matches: (json: string, filter: string): bigint => booleanOf(matcherOf(filter)(json)),

  /** @param pattern JSON of it */
  store_pattern: (text: string | null, pattern: string): bigint =>
    booleanOf(text !== null && patternOf(pattern)(text)),
}
