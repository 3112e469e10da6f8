import type { ElementTest, FilterTree, Test } from './filter.ts'
import { countIndexes } from './path.ts'
import type { Sort } from './sort.ts'

// To compare takes 40 ns for each byte of a document at worst; see `costOf` of patterns, too.
const PATTERN_COST = 8

/** What it takes to ask a filter of a document at worst, as a multiple of one comparison with all values in it. */
export function effortOf(filter: FilterTree): number {
  if (filter.kind === 'not') return effortOf(filter.of)
  if (filter.kind !== 'field') return sumOf(filter.of.map(effortOf))
  // A number is an index or a name: the ways double.
  return effortOfTest(filter.test) * 2 ** countIndexes(filter.path)
}

function effortOfTest(test: Test): number {
  if (test.kind === 'pattern') return Math.max(1, test.pattern.cost / PATTERN_COST)
  if (test.kind === 'elementMatches') return 1 + effortOf(test.of)
  return test.kind === 'element' ? 1 + effortOfElement(test.of) : 1
}

function effortOfElement(test: ElementTest): number {
  if (test.kind === 'not') return effortOfElement(test.of)
  return test.kind === 'value' ? effortOfTest(test.test) : sumOf(test.of.map(effortOfElement))
}

const sumOf = (efforts: readonly number[]): number => efforts.reduce((sum, one) => sum + one, 0)

/** Likewise to find where it sorts. With a number in a path it grows with the square of its bytes. */
export const effortOfSort = ({ keys }: Sort): number =>
  keys.length > 1 && keys.some(({ path }) => countIndexes(path) > 0) ? Infinity : keys.length
