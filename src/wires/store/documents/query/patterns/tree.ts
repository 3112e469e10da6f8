import type { CharacterSet } from './character-set.ts'

/**
 * A regular expression, taken apart. Options are resolved already, so a node means the same on every engine: `i` has
 * become sets that hold each character's other cases, `.` and `\w` are sets, and `^` says which of its two places it means.
 * Groups have no numbers and repetitions no greed: only whether there is a match is ever asked.
 */
export type Node =
  /** One character of the set. */
  | { readonly kind: 'set'; readonly set: CharacterSet }
  /** One after the other. Of nothing: the empty text. */
  | { readonly kind: 'sequence'; readonly of: readonly Node[] }
  | { readonly kind: 'choice'; readonly of: readonly Node[] }
  /** `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly of: Node; readonly min: number; readonly max: number }
  | { readonly kind: 'assertion'; readonly at: Place }

/** A place between two characters. */
export type Place =
  | 'start'
  | 'end'
  /** PCRE's `$` and `\Z`: the end, or before a line feed that is the last character. */
  | 'lastLineEnd'
  /** `^` with option m: the start, or after a line feed that is not the last character. */
  | 'lineStart'
  /** `$` with option m: the end, or before any line feed. */
  | 'lineEnd'
  | 'wordEdge'
  | 'noWordEdge'

export const sequence = (of: readonly Node[]): Node => {
  const flat = of.flatMap((node) => (node.kind === 'sequence' ? node.of : [node]))
  return flat.length === 1 ? flat[0]! : { kind: 'sequence', of: flat }
}

export const choice = (of: readonly Node[]): Node => (of.length === 1 ? of[0]! : { kind: 'choice', of })

export const nothing: Node = sequence([])

export function repeat(of: Node, min: number, max: number): Node {
  if (max === 0) return nothing
  return min === 1 && max === 1 ? of : { kind: 'repeat', of, min, max }
}

export const isNothing = (node: Node): boolean => node.kind === 'sequence' && node.of.length === 0

/** Sets of more members than a letter has cases make many states of an automaton possible at once. */
const LITERAL_RANGES = 4

/**
 * What a pattern may cost at worst for each character of a text, in 5 ns: how many nodes there are once repetitions are written
 * out. 1,200 are 1,000 letters, 300 sets, or 200 times a choice of two letters.
 */
export function costOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return isLiteral(node.set) ? 1 : 4
    case 'assertion':
      return 1
    case 'sequence':
      return node.of.reduce((sum, one) => sum + costOf(one), 0)
    case 'choice':
      return node.of.reduce((sum, one) => sum + costOf(one) + 2, 0)
    case 'repeat':
      return 4 + Math.max(costOf(node.of), 1) * writtenCount(node)
  }
}

const isLiteral = (set: CharacterSet): boolean =>
  set.length <= LITERAL_RANGES && set.every(([from, to]) => from === to)

const writtenCount = ({ min, max }: { min: number; max: number }): number =>
  max === Infinity ? Math.max(min, 1) : max

/** How often the most repeated node stands there once repetitions are written out. */
export function countOf(node: Node): number {
  if (node.kind === 'set' || node.kind === 'assertion') return 1
  if (node.kind === 'repeat') return countOf(node.of) * writtenCount(node)
  return Math.max(1, ...node.of.map(countOf))
}

/** Of how many ranges the sets consist, which decides how long a pattern is written. */
export function rangesOf(node: Node): number {
  if (node.kind === 'set') return node.set.length
  if (node.kind === 'assertion') return 0
  return node.kind === 'repeat' ? rangesOf(node.of) : node.of.reduce((sum, one) => sum + rangesOf(one), 0)
}
