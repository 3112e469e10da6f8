import { SERVICE_FIELDS } from '../document-json.ts'
import { indexOf, parsePath, quote, type Path } from '../query/path.ts'
import { refused, type FieldChange } from './field-change.ts'

/** Names that lead to what JavaScript objects inherit. */
const INHERITED = ['__proto__', 'constructor', 'prototype']

/**
 * Takes the dotted path that an operator writes apart.
 *
 * @param at JSON pointer named in the error
 * @throws VALIDATION_ERROR
 */
export function parseWritePath(text: string, at: string): Path {
  if (/(?:^|\.)\$(?:\[[^\]]*\])?(?:\.|$)/.test(text))
    throw refused(
      at,
      `${quote(text)} has a position of MongoDB's queries: name the element by its index, like "lines.0".`,
    )
  const path = parsePath(text, at)
  if (path.includes('')) throw refused(at, `A part of ${quote(text)} is empty: name a field or an index.`)
  const inherited = path.find((part) => INHERITED.includes(part))
  if (inherited !== undefined) throw refused(at, `No field can be named ${quote(inherited)}.`)
  if (SERVICE_FIELDS.includes(path[0]!))
    throw refused(at, `The service itself writes ${quote(path[0]!)}: leave it out.`)
  return path
}

/**
 * The order in which MongoDB applies changes, and so adds new fields: numbers by value, then names as text. Paths inside of
 * one another are neighbours in it.
 */
export function comparePaths(one: Path, other: Path): number {
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
 * @param changes in the order of their paths
 * @throws VALIDATION_ERROR if two changes write the same value, or one of them a part of the other's
 */
export function refuseConflicts(changes: readonly FieldChange[]): void {
  for (const [i, { path, at }] of changes.entries()) {
    const before = changes[i - 1]
    if (before?.path.every((part, depth) => part === path[depth]))
      throw refused(
        at,
        `${quote(path.join('.'))} is changed by ${before.operator} of ${quote(before.path.join('.'))} too: write each part of a document once.`,
      )
  }
}
