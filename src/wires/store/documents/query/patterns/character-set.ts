/** Code points from the first to the second, both included. */
export type Range = readonly [from: number, to: number]

/** Ranges in ascending order that neither overlap nor touch. */
export type CharacterSet = readonly Range[]

/**
 * What a text can hold. U+0000 and halves of surrogate pairs are refused in all JSON, so no set holds them; U+0000 is free
 * as a mark (see re2.ts).
 */
const UNIVERSE: CharacterSet = [
  [0x1, 0xd7ff],
  [0xe000, 0x10_ffff],
]

/** The set of all these ranges, which may overlap and come in any order. */
export function setOf(ranges: readonly Range[]): CharacterSet {
  const sorted = ranges
    .flatMap(([from, to]) =>
      UNIVERSE.map(([first, last]): Range => [Math.max(from, first), Math.min(to, last)]),
    )
    .filter(([from, to]) => from <= to)
    .toSorted(([a], [b]) => a - b)
  const set: [number, number][] = []
  for (const [from, to] of sorted) {
    const last = set.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else set.push([from, to])
  }
  return set
}

export const union = (...sets: readonly CharacterSet[]): CharacterSet => setOf(sets.flat())

export function complement(set: CharacterSet): CharacterSet {
  const gaps: Range[] = []
  let next = 0
  for (const [from, to] of set) {
    gaps.push([next, from - 1])
    next = to + 1
  }
  return setOf([...gaps, [next, 0x10_ffff]])
}

export const contains = (set: CharacterSet, code: number): boolean =>
  set.some(([from, to]) => from <= code && code <= to)

/** The code point of a set of one. */
export const onlyMember = (set: CharacterSet): number | undefined =>
  set.length === 1 && set[0]![0] === set[0]![1] ? set[0]![0] : undefined

/** A set as people write it: `characters('a-z_')`. Only for ASCII without `\`. */
export function characters(text: string): CharacterSet {
  const ranges = text.matchAll(/(.)(?:-(.))?/gs)
  return setOf([...ranges].map(([, from, to = from]): Range => [from!.charCodeAt(0), to!.charCodeAt(0)]))
}
