import { invalid } from '../../../../base/errors.ts'
import { pointerTo } from '../../../../base/json-pointer.ts'
import type { Json, TypeName } from './filter.ts'
import { quote } from './path.ts'

/**
 * The types of BSON by name and number, and which of them JSON has.
 * https://www.mongodb.com/docs/manual/reference/bson-types/
 */
const TYPES: readonly (readonly [name: string, code: number | undefined, ...types: TypeName[]])[] = [
  ['double', 1, 'double'],
  ['string', 2, 'string'],
  ['object', 3, 'object'],
  ['array', 4, 'array'],
  ['binData', 5],
  ['undefined', 6],
  ['objectId', 7],
  ['bool', 8, 'bool'],
  ['date', 9],
  ['null', 10, 'null'],
  ['regex', 11],
  ['dbPointer', 12],
  ['javascript', 13],
  ['symbol', 14],
  ['javascriptWithScope', 15],
  ['int', 16, 'int'],
  ['timestamp', 17],
  ['long', 18, 'long'],
  ['decimal', 19],
  ['minKey', -1],
  ['maxKey', 127],
  ['number', undefined, 'double', 'int', 'long'],
]

/**
 * The types that the operand of `$type` names, of those that JSON has: none, if it names others only.
 *
 * @param at JSON pointer of the operand
 * @throws VALIDATION_ERROR
 */
export function typeNames(operand: Json, at: string): readonly TypeName[] {
  if (!Array.isArray(operand)) return typesOf(operand, at)
  if (operand.length === 0) throw invalid({ path: at, message: 'Give at least one type.' })
  const types = operand.flatMap((one: Json, i) => typesOf(one, pointerTo(at, i)))
  return [...new Set(types)]
}

function typesOf(operand: Json, at: string): readonly TypeName[] {
  const known = TYPES.find(([name, code]) => operand === name || (code !== undefined && operand === code))
  if (!known) {
    const message =
      typeof operand === 'string'
        ? `${quote(operand)} is not a type: give ${TYPES.map(([name]) => name).join(', ')}.`
        : '$type takes a name, for example "string", a number of BSON from 1 to 19, or an array of them.'
    throw invalid({ path: at, message })
  }
  const [, , ...types] = known
  return types
}

/** The type of a value that `JSON.parse` read. */
export function typeOf(value: unknown): TypeName {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'object') return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object'
  const number = value as number
  if (!Number.isInteger(number) || number <= -(2 ** 63) || number >= 2 ** 63) return 'double'
  return number === (number | 0) ? 'int' : 'long'
}
