import { printSet } from './character-set.ts'
import type { Node, Place } from './pattern-tree.ts'

/** How an engine writes what trees consist of; sets are written alike. */
type PatternDialect = Readonly<Record<Place, string>> & {
  /** Repeats `atom`, which is a set or a group. */
  readonly repeat: (atom: string, min: number, max: number) => string
}

/** `{2,5}` and its short forms. */
function counted(atom: string, min: number, max: number): string {
  if (max === Infinity) return min < 2 ? `${atom}${'*+'[min]!}` : `${atom}{${min},}`
  if (min === 0 && max === 1) return `${atom}?`
  return min === max ? `${atom}{${min}}` : `${atom}{${min},${max}}`
}

/** https://github.com/google/re2/wiki/Syntax, with option s. */
export const re2: PatternDialect = {
  repeat: counted,
  start: '\\A',
  end: '\\z',
  lastLineEnd: '\\n?\\z',
  lineStart: '(?m:^)',
  lineEnd: '(?m:$)',
  wordEdge: '\\b',
  noWordEdge: '\\B',
}

// V8 does not find /[^b]$/u in "a😀": where it sees `$`, it starts at the end less the length of a match, within the pair.
const end = '(?![^])'

/** For patterns of which `waysOf` is finite, with flags s and u: nothing is repeated, so there is little to backtrack. */
export const javascript: PatternDialect = {
  ...re2,
  repeat: (atom, min, max) => atom.repeat(min) + `(?:${atom}|)`.repeat(max - min),
  start: '^',
  end,
  lastLineEnd: `(?:\\n|)${end}`,
  lineStart: '(?:^|(?<=\\n))',
  lineEnd: `(?=\\n|${end})`,
}

const word = '[0-9A-Z_a-z]'

/**
 * Advanced regular expressions, for `~` and for jsonpath's `like_regex` with flag "s". `\y` and `\w` go by the locale there.
 * https://www.postgresql.org/docs/current/functions-matching.html#POSIX-SYNTAX-DETAILS
 */
export const postgres: PatternDialect = {
  repeat: counted,
  start: '^',
  end: '$',
  lastLineEnd: '\\n?$',
  lineStart: '(?:^|(?<=\\n))',
  lineEnd: '(?:$|(?=\\n))',
  wordEdge: `(?:(?<=${word})(?!${word})|(?<!${word})(?=${word}))`,
  noWordEdge: `(?:(?<=${word})(?=${word})|(?<!${word})(?!${word}))`,
}

export function printTree(node: Node, dialect: PatternDialect): string {
  switch (node.kind) {
    case 'set':
      return printSet(node.set)
    case 'assertion':
      return dialect[node.at]
    case 'sequence':
      return node.of.map((one) => printTree(one, dialect)).join('')
    case 'choice':
      return `(?:${node.of.map((one) => printTree(one, dialect)).join('|')})`
    case 'repeat': {
      const of = printTree(node.of, dialect)
      const isAtom = node.of.kind === 'set' || node.of.kind === 'choice'
      return dialect.repeat(isAtom ? of : `(?:${of})`, node.min, node.max)
    }
  }
}
