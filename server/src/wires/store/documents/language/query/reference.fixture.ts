import type { Json } from './filter.ts'

// What the engines and the matcher are compared with: MongoDB's documented rules said once more, on the request's own
// JSON and as plainly as JavaScript can. It shares no code with what it judges.

type JsonObject = { readonly [name: string]: Json }

const MISSING = Symbol('missing')
type Value = Json | typeof MISSING

/** Where a path ends: a value, and whether its elements are asked too if it is an array. */
type End = { readonly value: Value; readonly opens: boolean }

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isArray = (value: unknown): value is readonly Json[] => Array.isArray(value)

/** Whether MongoDB's `find` with this filter answers the document. */
export function matches(document: Json, filter: JsonObject): boolean {
  return Object.entries(filter).every(([key, operand]) => {
    const filters = operand as readonly JsonObject[]
    if (key === '$and') return filters.every((one) => matches(document, one))
    if (key === '$or') return filters.some((one) => matches(document, one))
    if (key === '$nor') return !filters.some((one) => matches(document, one))
    if (key === '$expr') return evaluate(document, operand)
    return meets(endsIn(document, key.split('.')), isOperators(operand) ? operand : { $eq: operand })
  })
}

const COMPARED: Readonly<Record<string, (order: number) => boolean>> = {
  $eq: (order) => order === 0,
  $ne: (order) => order !== 0,
  $gt: (order) => order > 0,
  $gte: (order) => order >= 0,
  $lt: (order) => order < 0,
  $lte: (order) => order <= 0,
}

/** A comparison of aggregation, in which a missing field is less than null. */
function evaluate(document: Json, expression: Json): boolean {
  const [[operator, sides]] = Object.entries(expression as JsonObject) as [[string, [Json, Json]]]
  const [left, right] = sides.map((side) => {
    if (typeof side === 'string' && side.startsWith('$')) return fieldOf(document, side.slice(1).split('.'))
    return isObject(side) && '$literal' in side ? side['$literal']! : side
  }) as [Value, Value]
  const missing = Number(right === MISSING) - Number(left === MISSING)
  return COMPARED[operator]!(left === MISSING || right === MISSING ? missing : compare(left, right))
}

/** Fields of the objects in an array are an array; arrays in an array have none. */
function fieldOf(object: Json, [name, ...rest]: readonly string[]): Value {
  const fields = new Map(Object.entries(object as object)) as ReadonlyMap<string, Json>
  const value = fields.get(name!) ?? (fields.has(name!) ? null : MISSING)
  if (rest.length === 0) return value
  if (isObject(value)) return fieldOf(value, rest)
  if (!isArray(value)) return MISSING
  const inner = value.filter(isObject).map((element) => fieldOf(element, rest))
  return inner.filter((one): one is Json => one !== MISSING)
}

/** An array is asked as a document by `$elemMatch`; its elements are fields of it then. */
function endsIn(document: Json, [name, ...rest]: readonly string[]): End[] {
  const fields = new Map(Object.entries(document as object)) as ReadonlyMap<string, Json>
  const value = fields.get(name!) ?? (fields.has(name!) ? null : MISSING)
  if (rest.length === 0) return [{ value, opens: true }]
  if (isArray(value)) return endsInArray(value, rest)
  return isObject(value) ? endsIn(value, rest) : [{ value: MISSING, opens: true }]
}

function endsInArray(array: readonly Json[], path: readonly string[]): End[] {
  const fields = array.flatMap((element) => (isObject(element) ? endsIn(element, path) : []))
  const [index, ...rest] = path
  if (!array.some((_, i) => String(i) === index)) return fields
  const element = array[Number(index)]!
  if (rest.length === 0) return [...fields, { value: element, opens: false }]
  if (isArray(element)) return [...fields, ...endsInArray(element, rest)]
  return isObject(element) ? [...fields, ...endsIn(element, rest)] : fields
}

const isOperators = (operand: Json): operand is JsonObject =>
  isObject(operand) && Object.keys(operand)[0]?.startsWith('$') === true

const meets = (ends: readonly End[], operators: JsonObject): boolean =>
  Object.entries(operators).every(([name, operand]) => OPERATORS[name]!(ends, operand, operators))

/** Whether any value passes; elements before the array they are in. */
const any = (ends: readonly End[], passes: (value: Value) => boolean): boolean =>
  ends.some(({ value, opens }) => (opens && isArray(value) && value.some(passes)) || passes(value))

const anyArray = (ends: readonly End[], passes: (array: readonly Json[]) => boolean): boolean =>
  ends.some(({ value }) => isArray(value) && passes(value))

const KINDS = ['null', 'number', 'string', 'object', 'array', 'boolean']
const kindOf = (value: Json): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** Below, at or above zero as `a` stands before, with or after `b` in MongoDB's order of all values. */
function compare(a: Json, b: Json): number {
  const byKind = KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b))
  if (byKind !== 0 || a === null) return byKind
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (typeof a !== 'object') return Number(a) - Number(b)
  const [fields, others] = [Object.entries(a), Object.entries(b as object)] as [string, Json][][]
  const orders = fields!.slice(0, others!.length).flatMap(([name, value], i) => {
    const [otherName, other] = others![i]!
    const byType = KINDS.indexOf(kindOf(value)) - KINDS.indexOf(kindOf(other))
    return [byType, compare(name, otherName), compare(value, other)]
  })
  return orders.find((order) => order !== 0) ?? fields!.length - others!.length
}

/** The order of two values of one type, where a missing one is null; NaN of two types. */
function order(value: Value, operand: Json): number {
  const present = value === MISSING ? null : value
  return kindOf(present) === kindOf(operand) ? compare(present, operand) : NaN
}

const not =
  (operator: Operator): Operator =>
  (...asked) =>
    !operator(...asked)

type Operator = (ends: readonly End[], operand: Json, siblings: JsonObject) => boolean

const equal: Operator = (ends, operand) => any(ends, (value) => order(value, operand) === 0)
const among: Operator = (ends, operand) =>
  (operand as Json[]).some((one) => any(ends, (value) => order(value, one) === 0))

const OPERATORS: Readonly<Record<string, Operator>> = {
  $eq: equal,
  $ne: not(equal),
  $gt: (ends, operand) => any(ends, (value) => order(value, operand) > 0),
  $gte: (ends, operand) => any(ends, (value) => order(value, operand) >= 0),
  $lt: (ends, operand) => any(ends, (value) => order(value, operand) < 0),
  $lte: (ends, operand) => any(ends, (value) => order(value, operand) <= 0),
  $in: among,
  $nin: not(among),
  $not: (ends, operand) => !meets(ends, operand as JsonObject),
  $exists: (ends, operand) => any(ends, (value) => value !== MISSING) === Boolean(operand),
  $type: (ends, operand) => any(ends, (value) => value !== MISSING && isOfType(value, operand)),
  $regex: (ends, operand, { $options = '' }) =>
    any(ends, (value) => typeof value === 'string' && isFound(value, operand as string, $options as string)),
  $options: () => true,
  $all: (ends, operand) => {
    const items = operand as Json[]
    return items.length > 0 && items.every((item) => meets(ends, isOperators(item) ? item : { $eq: item }))
  },
  $elemMatch: (ends, operand) =>
    anyArray(ends, (array) => array.some((element) => isMatch(element, operand))),
  $size: (ends, operand) => anyArray(ends, ({ length }) => length === operand),
  $bitsAllSet: (ends, operand) =>
    any(ends, (value) => isInteger(value) && positionsOf(operand).every((i) => bitAt(value, i) === true)),
  $bitsAllClear: (ends, operand) =>
    any(ends, (value) => isInteger(value) && positionsOf(operand).every((i) => bitAt(value, i) === false)),
  $bitsAnySet: (ends, operand) =>
    any(ends, (value) => positionsOf(operand).some((i) => bitAt(value, i) === true)),
  $bitsAnyClear: (ends, operand) =>
    any(ends, (value) => positionsOf(operand).some((i) => bitAt(value, i) === false)),
  $mod: (ends, operand) => {
    const [divisor = 0n, remainder] = (operand as number[]).map(toInteger)
    return any(ends, (value) => {
      const integer = typeof value === 'number' ? toInteger(value) : undefined
      return integer !== undefined && remainder === integer % divisor
    })
  },
}

/** The bits of an integer that fits into 64 bits, the lowest first; as many as are asked for. */
function bitAt(value: Value, position: number): boolean | undefined {
  const integer = typeof value === 'number' && Number.isInteger(value) ? toInteger(value) : undefined
  if (integer === undefined) return undefined
  return ((integer >> BigInt(position)) & 1n) === 1n
}

const positionsOf = (operand: Json): readonly number[] =>
  typeof operand === 'number'
    ? Array.from({ length: 64 }, (_, i) => i).filter((i) => bitAt(operand, i))
    : (operand as readonly number[])

const isInteger = (value: Value): boolean => bitAt(value, 0) !== undefined

const JOINS = ['$and', '$or', '$nor']

function isMatch(element: Json, operand: Json): boolean {
  if (isOperators(operand) && !JOINS.includes(Object.keys(operand)[0]!))
    return meets([{ value: element, opens: false }], operand)
  return typeof element === 'object' && element !== null && matches(element, operand as JsonObject)
}

/** The whole part of a number as JSON writes it, if 64 bits hold it. */
function toInteger(number: number): bigint | undefined {
  const text = String(Math.trunc(number))
  if (text.includes('e')) return undefined
  return BigInt.asIntN(64, BigInt(text)) === BigInt(text) ? BigInt(text) : undefined
}

const CODES: Readonly<Record<number, string>> = {
  1: 'double',
  2: 'string',
  3: 'object',
  4: 'array',
  8: 'bool',
  10: 'null',
  16: 'int',
  18: 'long',
}

function isOfType(value: Json, operand: Json): boolean {
  const types = (Array.isArray(operand) ? operand : [operand]) as (string | number)[]
  const type = typeof value === 'number' ? numberType(value) : kindOf(value).replace('boolean', 'bool')
  return types.some(
    (one) => one === type || (one === 'number' && typeof value === 'number') || CODES[Number(one)] === type,
  )
}

function numberType(number: number): string {
  const integer = Number.isInteger(number) ? toInteger(number) : undefined
  if (integer === undefined) return 'double'
  return BigInt.asIntN(32, integer) === integer ? 'int' : 'long'
}

/** For patterns that mean the same to JavaScript and to PCRE. */
function isFound(text: string, source: string, options: string): boolean {
  const bare = options.includes('x') ? source.replaceAll(/\s/g, '') : source
  return new RegExp(bare, `u${options.replace('x', '')}`).test(text)
}
