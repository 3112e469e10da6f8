import { SERVICE_FIELDS } from '../document-json.ts'
import { indexOf, parsePath, quote, type Path } from '../query/path.ts'
import { refused, type FieldChange } from './field-change.ts'

/** Names that lead to what JavaScript objects inherit. */
const INHERITED = ['__proto__', 'constructor', 'prototype']

/** The position of the element that a filter matched. https://www.mongodb.com/docs/manual/reference/operator/update/positional/ */
export const MATCHED = '$'
/** The position of each element. https://www.mongodb.com/docs/manual/reference/operator/update/positional-all/ */
export const EACH = '$[]'

/**
 * Takes the dotted path that an operator writes apart. Positions are parts of it.
 *
 * @param at JSON pointer named in the error
 * @throws VALIDATION_ERROR
 */
export function parseWritePath(text: string, at: string): Path {
  const path = text.split('.')
  checkPositions(path, text, at)
  // A position stands for an index.
  parsePath(path.map((part) => (isPosition(part) ? '0' : part)).join('.'), at)
  if (path.includes('')) throw refused(at, `A part of ${quote(text)} is empty: name a field or an index.`)
  const inherited = path.find((part) => INHERITED.includes(part))
  if (inherited !== undefined) throw refused(at, `No field can be named ${quote(inherited)}.`)
  if (SERVICE_FIELDS.includes(path[0]!))
    throw refused(at, `The service itself writes ${quote(path[0]!)}: leave it out.`)
  return path
}

const isPosition = (part: string): boolean => part === MATCHED || part === EACH

function checkPositions(path: Path, text: string, at: string): void {
  if (path.some((part) => /^\$\[.+\]$/.test(part)))
    throw refused(
      at,
      `${quote(text)} has a filter of elements, and arrayFilters are not supported: name the element by its index, like "lines.0", or all by "lines.$[]".`,
    )
  if (isPosition(path[0]!))
    throw refused(at, `${quote(text)} begins with a position: name the array before it.`)
  if (path.filter((part) => part === MATCHED).length > 1)
    throw refused(at, `${quote(text)} has the position $ twice: a filter matches one element.`)
}

/**
 * The order in which MongoDB applies changes, and so adds new fields: numbers by value, then names as text. Paths inside of
 * one another are neighbours in it.
 */
function comparePaths(one: Path, other: Path): number {
  const length = Math.min(one.length, other.length)
  for (let i = 0; i < length; i++) {
    const order = compareParts(one[i]!, other[i]!)
    if (order !== 0) return order
  }
  return one.length - other.length
}

function compareParts(one: string, other: string): number {
  if (one === other) return 0
  const [index, otherIndex] = [indexOf(one), indexOf(other)]
  if (index !== otherIndex && index !== -1 && otherIndex !== -1) return index - otherIndex
  if ((index === -1) !== (otherIndex === -1)) return index === -1 ? 1 : -1
  return one < other ? -1 : 1
}

/**
 * The changes in the order in which they apply.
 *
 * @throws VALIDATION_ERROR if two changes write the same value, or one of them a part of the other's
 */
export function inOrder(changes: readonly FieldChange[]): readonly FieldChange[] {
  const sorted = changes.toSorted((one, other) => comparePaths(one.path, other.path))
  for (const [i, { path, at }] of sorted.entries()) {
    const before = sorted[i - 1]
    if (before && isConflict(before.path, path))
      throw refused(
        at,
        `${quote(path.join('.'))} is changed by ${before.operator} of ${quote(before.path.join('.'))} too: write each part of a document once.`,
      )
  }
  return sorted
}

/** Whether a path is within another one that is sorted before it, or an element is one of all elements. */
function isConflict(before: Path, path: Path): boolean {
  const other = before.findIndex((part, depth) => part !== path[depth])
  return other === -1 || before[other] === EACH || path[other] === EACH
}
