import { invalid } from '../../../../../base/errors.ts'
import { pointerTo } from '../../../../../base/json-pointer.ts'
import {
  everything,
  isObject,
  nothing,
  type Comparison,
  type ExpressionFilter,
  type ExpressionOperand,
  type FilterTree,
  type Json,
} from './filter.ts'
import { emptyPart, parsePath, quote, type Path } from './path.ts'
import { sortTextOf } from './sort-key.ts'

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  $eq: '=',
  $ne: '<>',
  $gt: '>',
  $gte: '>=',
  $lt: '<',
  $lte: '<=',
}

/** The comparison with its sides exchanged. */
const EXCHANGED: Readonly<Record<Comparison, Comparison>> = {
  '=': '=',
  '<>': '<>',
  '>': '<',
  '>=': '<=',
  '<': '>',
  '<=': '>=',
}

/**
 * Reads the operand of `$expr`: one comparison, of two fields or of a field and a value.
 * https://www.mongodb.com/docs/manual/reference/operator/query/expr/
 *
 * @throws VALIDATION_ERROR
 */
export function readExpression(operand: Json, at: string): FilterTree {
  const [name = '', ...others] = isObject(operand) ? Object.keys(operand) : []
  const operator = Object.hasOwn(COMPARISONS, name) ? COMPARISONS[name] : undefined
  if (!operator || others.length > 0)
    throw refused(
      at,
      `$expr takes one comparison of two fields, or of a field and a value, like {"$gt": ["$spent", "$budget"]}. It may be ${Object.keys(COMPARISONS).join(' ')}; join several by $and.`,
    )
  const here = pointerTo(at, name)
  const sides = (operand as { readonly [name: string]: Json })[name]
  if (!Array.isArray(sides) || sides.length !== 2)
    throw refused(here, `${name} takes an array of two: fields like "$spent", or values.`)
  const [left, right] = sides.map((side: Json, i) => readOperand(side, pointerTo(here, i))) as [
    ExpressionOperand,
    ExpressionOperand,
  ]
  if ('path' in left) return { kind: 'expr', path: left.path, operator, to: right }
  if ('path' in right) return { kind: 'expr', path: right.path, operator: EXCHANGED[operator], to: left }
  return holds(operator, left.value, right.value) ? everything : nothing
}

const refused = (path: string, message: string) => invalid({ path, message })

function readOperand(operand: Json, at: string): ExpressionOperand {
  if (typeof operand === 'string' && operand.startsWith('$')) return { path: readPath(operand, at) }
  if (isObject(operand) && Object.keys(operand).join() === '$literal') return { value: operand['$literal']! }
  if (hasExpression(operand))
    throw refused(
      at,
      'A side of a comparison is a field like "$spent", a value, or {"$literal": value} for one with "$" at the beginning of texts or names.',
    )
  return { value: operand }
}

function readPath(text: string, at: string): Path {
  if (text.startsWith('$$'))
    throw refused(at, `${quote(text)} is a variable, and $expr has none: name a field, like "$spent".`)
  const path = parsePath(text.slice(1), at)
  if (path.includes('')) throw refused(at, emptyPart(text))
  return path
}

/** Whether a value holds what MongoDB would compute. */
function hasExpression(value: Json): boolean {
  if (typeof value === 'string') return value.startsWith('$')
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value as object).some(
    ([name, inner]) => name.startsWith('$') || hasExpression(inner as Json),
  )
}

/** Compiles a comparison to a function of a document. */
export function compileExpression({ path, operator, to }: ExpressionFilter): (document: unknown) => boolean {
  if ('value' in to) return (document) => holds(operator, valueAt(document, path), to.value)
  return (document) => holds(operator, valueAt(document, path), valueAt(document, to.path))
}

/** Whether a comparison holds in MongoDB's order of values of all types, in which "missing" comes first. */
function holds(operator: Comparison, left: Json | undefined, right: Json | undefined): boolean {
  const isNumeric = typeof left === 'number' && typeof right === 'number'
  const [one, other] = isNumeric ? [left, right] : [keyOf(left), keyOf(right)]
  switch (operator) {
    case '=':
      return one === other
    case '<>':
      return one !== other
    case '>':
      return one > other
    case '>=':
      return one >= other
    case '<':
      return one < other
    case '<=':
      return one <= other
  }
}

const keyOf = (value: Json | undefined): string => (value === undefined ? '' : sortTextOf(value))

/**
 * The value at a path as expressions have it: of an array on the way, the array of what its objects have behind it.
 * Undefined for "missing".
 */
function valueAt(from: unknown, path: Path, start = 0): Json | undefined {
  let value = from
  for (let part = start; part < path.length; part++) {
    if (Array.isArray(value))
      return value.flatMap((element: unknown) => {
        const inner = isObject(element) ? valueAt(element, path, part) : undefined
        return inner === undefined ? [] : [inner]
      })
    if (!isObject(value) || !Object.hasOwn(value, path[part]!)) return undefined
    value = value[path[part]!]
  }
  return value as Json
}
