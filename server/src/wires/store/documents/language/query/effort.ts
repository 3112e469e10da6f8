import { partsIn, type FilterTree } from './filter.ts'
import { countIndexes } from './path.ts'
import type { Sort } from './sort.ts'

// To compare takes 40 ns for each byte of a document at worst; see `costOf` of patterns, too.
const PATTERN_COST = 8

/**
 * What it takes to ask a filter of a document at worst and to find where it sorts, as a multiple of one comparison with all
 * values in it.
 */
export function effortOf(filter: FilterTree, { keys }: Sort): number {
  // With a number in a path it grows with the square of the document's bytes.
  if (keys.length > 1 && keys.some(({ path }) => countIndexes(path) > 0)) return Infinity
  let [tests, indexes] = [0, 0]
  for (const part of partsIn(filter)) {
    if (part.kind === 'pattern') tests += Math.max(1, part.pattern.cost / PATTERN_COST)
    else if (part.kind === 'field') indexes += countIndexes(part.path)
    else if (part.kind === 'expr') tests += 2 // both sides may be most of the document
    else if (!['and', 'or', 'not', 'value'].includes(part.kind)) tests++
  }
  // A number is an index or a name: the ways double.
  return Math.max(1, tests * 2 ** indexes + keys.length)
}
