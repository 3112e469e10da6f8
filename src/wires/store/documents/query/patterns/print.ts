import { complement, onlyMember, type CharacterSet } from './character-set.ts'
import type { Node, Place } from './tree.ts'

/** How an engine writes what trees consist of. */
export type PatternDialect = {
  readonly set: (set: CharacterSet) => string
  readonly assertions: Readonly<Record<Place, string>>
  /** Repeats `atom`, which is a set or a group. */
  readonly repeat: (atom: string, min: number, max: number) => string
}

export function printTree(node: Node, dialect: PatternDialect): string {
  switch (node.kind) {
    case 'set':
      return dialect.set(node.set)
    case 'assertion':
      return dialect.assertions[node.at]
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

/** `{2,5}` and its short forms. */
export function quantifier(min: number, max: number): string {
  if (max === Infinity) return min < 2 ? '*+'[min]! : `{${min},}`
  if (min === 0 && max === 1) return '?'
  return min === max ? `{${min}}` : `{${min},${max}}`
}

/**
 * A set in brackets, as engines agree on. All but ASCII letters and digits are written by `escape`.
 *
 * @param never what a negated class has to leave out besides
 */
export function printSet(set: CharacterSet, escape: (code: number) => string, never = ''): string {
  const character = (code: number): string => {
    const text = String.fromCodePoint(code)
    return /[0-9A-Za-z]/.test(text) ? text : escape(code)
  }
  const ranges = (set: CharacterSet): string =>
    set.map(([from, to]) => (from === to ? character(from) : `${character(from)}-${character(to)}`)).join('')
  const only = onlyMember(set)
  if (only !== undefined) return character(only)
  const rest = complement(set)
  return rest.length < set.length ? `[^${ranges(rest)}${never}]` : `[${ranges(set)}]`
}

export const hexadecimal = (code: number, digits = 0): string => code.toString(16).padStart(digits, '0')
