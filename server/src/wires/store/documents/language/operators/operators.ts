import { boundedPointer } from '../../../../../base/json-pointer.ts'
import type { Fields } from '../document-json.ts'
import { isObject, type FilterTree, type Json } from '../query/filter.ts'
import { NO_COUNTS, unknownOperator } from '../query/parse-filter.ts'
import { quote } from '../query/path.ts'
import { addToSet } from './add-to-set.ts'
import { increment, multiply } from './arithmetic.ts'
import { currentDate } from './current-date.ts'
import { maximum, minimum } from './extremes.ts'
import { checkDepth, refused, type FieldChange, type Operator } from './field-change.ts'
import { matchedIndex } from './matched-element.ts'
import { pop } from './pop.ts'
import { pull, pullAll } from './pull.ts'
import { push } from './push.ts'
import { readRename } from './rename.ts'
import { EACH, inOrder, MATCHED, parseWritePath } from './value-paths.ts'

/** MongoDB's update operators, parsed: in the order in which they apply. No two of them write the same part of a document. */
export type OperatorPatch = readonly FieldChange[]

/** Each costs the event loop some 15 µs. */
const CHANGES_MAX = 10_000

const set: Operator = (value, place) => {
  checkDepth(value, place)
  return () => value
}

/** Of an array's element it makes null. */
const unset: Operator = () => () => undefined

const operatorsOfPatch = (): Readonly<Record<string, Operator>> => ({
  $set: set,
  $setOnInsert: set,
  $unset: unset,
  $inc: increment,
  $mul: multiply,
  $min: minimum,
  $max: maximum,
  $currentDate: currentDate,
  $push: push,
  $addToSet: addToSet,
  $pop: pop,
  $pull: pull({ ...NO_COUNTS }),
  $pullAll: pullAll,
})

const RENAME = '$rename'

/**
 * Whether the body of a PATCH has MongoDB's update operators; else it is a merge patch, as is an empty one.
 *
 * @throws VALIDATION_ERROR if it has both operators and fields
 */
export function isOperatorPatch(body: Fields, at = '/body'): boolean {
  const names = Object.keys(body)
  const operator = names.find((name) => name.startsWith('$'))
  if (operator === undefined) return false
  const field = names.find((name) => !name.startsWith('$'))
  if (field === undefined) return true
  throw refused(
    boundedPointer(at, [field]),
    `A field cannot stand beside the operator ${quote(operator)}: write it in $set.`,
  )
}

/** A path of all elements counts as so many. */
const EACH_PATHS = 1000

/** How many paths the operators of a PATCH's body have; none of a merge patch. */
export function countPaths(body: Fields): number {
  let count = 0
  for (const [name, operand] of Object.entries(body))
    if (name.startsWith('$') && isObject(operand))
      for (const path of Object.keys(operand)) count += path.includes(EACH) ? EACH_PATHS : 1
  return count
}

/**
 * Reads update operators: `{"$inc": {"votes": 1}, "$push": {"tags": "new"}}`.
 * https://www.mongodb.com/docs/manual/reference/operator/update/
 *
 * @param at JSON pointer of the body
 * @param filter by which the documents are found, for the position `$`; undefined if they are named by their ids
 * @throws VALIDATION_ERROR whose path leads to the fault: `/body/$inc/votes`
 */
export function parseOperators(body: Fields, at = '/body', filter?: FilterTree): OperatorPatch {
  const operators = operatorsOfPatch()
  const changes: FieldChange[] = []
  for (const [name, operand] of Object.entries(body)) {
    const here = boundedPointer(at, [name])
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined
    if (!operator && name !== RENAME) throw unknownOperator(name, here, [...Object.keys(operators), RENAME])
    if (!isObject(operand))
      throw refused(here, `${name} takes an object of paths and operands, like {"${name}": {"path": 1}}.`)
    for (const [path, inner] of Object.entries(operand)) {
      if (changes.length >= CHANGES_MAX)
        throw refused(here, `A patch has at most ${CHANGES_MAX} paths: send several, or write a whole field.`)
      const place = boundedPointer(here, [path])
      if (operator) changes.push(readChange(name, operator, path, inner, place, filter))
      else changes.push(...readRename(path, inner, place))
    }
  }
  return inOrder(changes)
}

/** What a change costs the event loop, some 3 µs, as bytes that it may write: so those of 50,000 elements are the most. */
const CHANGE_BYTES = 320

function readChange(
  name: string,
  operator: Operator,
  text: string,
  operand: Json,
  at: string,
  filter: FilterTree | undefined,
): FieldChange {
  const path = parseWritePath(text, at)
  const apply = operator(operand, { at, depth: path.length })
  const position = path.indexOf(MATCHED)
  if (position !== -1 && !filter)
    throw refused(
      at,
      `${quote(text)} has the position $ of a filter, and here is none: name the element by its index, like "lines.0", or use set of POST /store/:collection/bulk.`,
    )
  return {
    path,
    at,
    operator: name,
    operand,
    bytes: text.includes(EACH) ? CHANGE_BYTES + text.length + JSON.stringify(operand).length : 0,
    apply,
    matched: position === -1 ? undefined : matchedIndex(filter!, path.slice(0, position), at),
  }
}
