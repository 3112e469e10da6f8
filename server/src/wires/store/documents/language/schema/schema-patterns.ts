import { ApiError, type Issue } from '../../../../../base/errors.ts'
import { parsePattern } from '../query/pattern.ts'
import { matcherOf } from '../query/patterns/pattern-matcher.ts'

/**
 * Compiles a pattern of a schema to a function of a text that takes linear time.
 *
 * @throws Error with a sentence about a pattern that is not in the subset of docs/queries.md
 */
export function compilePattern(source: string): (text: string) => boolean {
  return matcherOf(parse(source))
}

/** Why `compilePattern` refuses a pattern. */
export function patternFault(source: string): string | undefined {
  try {
    parse(source)
    return undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [{ message }] = (error.details as { issues: [Issue] }).issues
    // The one that was translated has more characters.
    return message.replace(/ at character \d+ of the pattern/, '')
  }
}

const parse = (source: string): ReturnType<typeof parsePattern> => parsePattern(translated(source), '', '')

/**
 * A pattern of JavaScript, as JSON Schema has them, in the syntax of filters, in which `$` also matches before a line break
 * at the end, and `.` matches all but a line feed.
 */
function translated(source: string): string {
  let isInClass = false
  return source.replace(
    /\\u\{([\da-f]+)\}|\\u([\da-f]{4})|\\[^]|[[\]$.]/gi,
    (token: string, long?: string, short?: string) => {
      if (long ?? short) return `\\x{${long ?? short}}`
      if (token === ']') isInClass = false
      if (token.length > 1 || token === ']') return token
      if (isInClass) return `\\${token}`
      if (token === '[') isInClass = true
      return token === '$' ? '\\z' : token === '.' ? '[^\\n\\r\\x{2028}\\x{2029}]' : token
    },
  )
}
