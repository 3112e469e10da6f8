import { onlyMember, type CharacterSet } from './character-set.ts'

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
  /** `$`: the end, or before a line feed that is the last character. */
  | 'lastLineEnd'
  /** `^` with option m: the start, or after a line feed. */
  | 'lineStart'
  /** `$` with option m: the end, or before a line feed. */
  | 'lineEnd'
  | 'wordEdge'
  | 'noWordEdge'

export const sequence = (of: readonly Node[]): Node => {
  const flat = of.flatMap((node) => (node.kind === 'sequence' ? node.of : [node]))
  return flat.length === 1 ? flat[0]! : { kind: 'sequence', of: flat }
}

export const choice = (of: readonly Node[]): Node => (of.length === 1 ? of[0]! : { kind: 'choice', of })

export const repeat = (of: Node, min: number, max: number): Node => {
  if (max === 0) return sequence([])
  return min === 1 && max === 1 ? of : { kind: 'repeat', of, min, max }
}

const partsOf = (node: Node): readonly Node[] => (node.kind === 'sequence' ? node.of : [node])

/** Without what a match may begin or end with but need not: `.*foo.*` is `foo`, and `^\d{2,4}` is `^\d{2}`. */
export function trimEnds(node: Node): Node {
  const isNeeded = (one: Node): boolean => one.kind !== 'repeat' || one.min > 0
  const of = partsOf(node)
  const needed = of.slice(of.findIndex(isNeeded), of.findLastIndex(isNeeded) + 1)
  const least = (one: Node): Node => (one.kind === 'repeat' ? repeat(one.of, one.min, one.min) : one)
  return sequence(needed.map((one, i) => (i === 0 || i === needed.length - 1 ? least(one) : one)))
}

/** The text that every match begins with, if the pattern is anchored; `whole` if each text that begins so matches. */
export function prefixOf(node: Node): { readonly text: string; readonly whole: boolean } | undefined {
  const [anchor, ...of] = partsOf(node)
  if (anchor?.kind !== 'assertion' || anchor.at !== 'start') return undefined
  const codes = of.map((one) => (one.kind === 'set' ? onlyMember(one.set) : undefined))
  const end = codes.indexOf(undefined)
  const text = String.fromCodePoint(...(codes.slice(0, end === -1 ? codes.length : end) as number[]))
  return text === '' ? undefined : { text, whole: end === -1 }
}

/**
 * What a pattern may cost at worst for each character of a text, in 5 ns: how many nodes there are once repetitions are written
 * out. Sets of more members than a letter has cases make many states of an automaton possible at once.
 */
export function costOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return node.set.length <= 4 && node.set.every(([from, to]) => from === to) ? 1 : 4
    case 'assertion':
      return 1
    case 'sequence':
      return node.of.reduce((sum, one) => sum + costOf(one), 0)
    case 'choice':
      return node.of.reduce((sum, one) => sum + costOf(one) + 2, 0)
    case 'repeat':
      return 4 + Math.max(costOf(node.of), 1) * (node.max === Infinity ? Math.max(node.min, 1) : node.max)
  }
}

/** In how many ways a backtracking search can go from one character of a text; Infinity if the text decides. */
export function waysOf(node: Node): number {
  switch (node.kind) {
    case 'set':
      return 1
    case 'assertion':
      return node.at === 'noWordEdge' ? Infinity : 1 // V8 finds \B between the halves of a surrogate pair
    case 'sequence':
      return node.of.reduce((product, one) => product * waysOf(one), 1)
    case 'choice':
      return node.of.reduce((sum, one) => sum + waysOf(one), 0)
    case 'repeat':
      return node.max === Infinity
        ? Infinity
        : waysOf(node.of) ** node.min * (waysOf(node.of) + 1) ** (node.max - node.min)
  }
}

/** Whether `$` without option m stands only where a match ends, as RE2 needs it. */
export function endsAtLineEnds(node: Node, isLast = true): boolean {
  if (node.kind === 'assertion') return isLast || node.at !== 'lastLineEnd'
  if (node.kind === 'repeat') return endsAtLineEnds(node.of, false)
  if (node.kind === 'choice') return node.of.every((one) => endsAtLineEnds(one, isLast))
  return (
    node.kind === 'set' || node.of.every((one, i) => endsAtLineEnds(one, isLast && i === node.of.length - 1))
  )
}
