import { invalid } from '../../../../../base/errors.ts'
import { pointerTo } from '../../../../../base/json-pointer.ts'
import type { Json, TypeName } from './filter.ts'
import { quote } from './path.ts'

/** BSON's types by number, from 1 on. https://www.mongodb.com/docs/manual/reference/bson-types/ */
const NUMBERED =
  'double string object array binData undefined objectId bool date null regex dbPointer javascript symbol javascriptWithScope int timestamp long decimal'.split(
    ' ',
  )
const CODES = new Map<Json, string>([
  ...NUMBERED.map((name, i) => [i + 1, name] as const),
  [-1, 'minKey'],
  [127, 'maxKey'],
])
const NAMES = [...CODES.values(), 'number']
/** Those that JSON has. */
const TYPES = new Set<string>(['double', 'string', 'object', 'array', 'bool', 'null', 'int', 'long'])

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
  const name = CODES.get(operand) ?? operand
  if (typeof name !== 'string' || !NAMES.includes(name)) {
    const message =
      typeof name === 'string'
        ? `${quote(name)} is not a type: give ${NAMES.join(', ')}.`
        : '$type takes a name, for example "string", a number of BSON from 1 to 19, or an array of them.'
    throw invalid({ path: at, message })
  }
  if (name === 'number') return ['double', 'int', 'long']
  return TYPES.has(name) ? [name as TypeName] : []
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
