// The threads of SQLite load this.
import type { RE2JS as Re2 } from 're2js'

import { requireModule } from '../../../../../../base/asset.ts'
import type { Pattern } from '../filter.ts'
import type * as Re2Package from './re2-package.ts'

const START = '\\A'

/** What a thread needs of a pattern. */
export type PatternExpression = Pick<Pattern, 'engine' | 'expression' | 'cost'>

/** A function that tells whether a text has a match, in time linear to its length. Keep it for the texts of a query. */
export function matcherOf({ expression, engine }: PatternExpression): (text: string) => boolean {
  if (engine === 'javascript') {
    const native = new RegExp(expression, 'su')
    return (text) => native.test(text)
  }
  // Of an anchored pattern re2js sooner sees that it can't match if the whole text has to.
  const isAnchored = expression.startsWith(START)
  const whole = isAnchored ? `${expression.slice(START.length)}.*` : expression
  // An automaton remembers states in up to 8 MiB and is compiled again in a few milliseconds, so those of queries that are over
  // are left to the garbage collector, also where their matchers are kept.
  let last: WeakRef<Re2> | undefined
  return (text) => {
    let automaton = last?.deref()
    if (!automaton) {
      const { RE2JS } = requireModule(
        'wires/store/documents/language/query/patterns/re2-package',
      ) as typeof Re2Package
      last = new WeakRef((automaton = RE2JS.compile(whole, RE2JS.DOTALL)))
    }
    return isAnchored ? automaton.testExact(text) : automaton.test(text)
  }
}

/** About how much memory a compiled pattern takes, as measured: for its nodes, and for the ranges that it is written with. */
export const bytesOfPattern = ({ expression, cost }: PatternExpression): number =>
  350 * cost + 5 * expression.length
