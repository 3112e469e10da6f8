/** Code points from the first to the second, both included. */
export type Range = readonly [from: number, to: number]

/** Ranges in ascending order that neither overlap nor touch. */
export type CharacterSet = readonly Range[]

/** What a text can hold: U+0000 and halves of surrogate pairs are refused in all JSON, so no set holds them. */
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

export function complement(set: CharacterSet): CharacterSet {
  const ends = [-1, ...set.map(([, to]) => to)]
  return setOf(ends.map((end, i): Range => [end + 1, (set[i]?.[0] ?? 0x11_0000) - 1]))
}

/** The code point of a set of one. */
export const onlyMember = (set: CharacterSet): number | undefined =>
  set.length === 1 && set[0]![0] === set[0]![1] ? set[0]![0] : undefined

/** The set as JavaScript (flags s and u), RE2 (option s) and PostgreSQL read it alike. */
export function printSet(set: CharacterSet): string {
  const only = onlyMember(set)
  if (only !== undefined) return String.fromCodePoint(only).replace(/[$()*+.?[\\\]^{|}]/, '\\$&')
  if (set.length > 0 && set.at(-1)![1] < 0x10_ffff) return `[${printRanges(set)}]`
  const rest = complement(set)
  return rest.length === 0 ? '.' : `[^${printRanges(rest)}]`
}

/** The ranges as they stand in a class. */
export function printRanges(set: CharacterSet): string {
  const member = (code: number): string =>
    ('-[\\]^'.includes(String.fromCodePoint(code)) ? '\\' : '') + String.fromCodePoint(code)
  return set.map(([from, to]) => (from === to ? member(from) : `${member(from)}-${member(to)}`)).join('')
}
