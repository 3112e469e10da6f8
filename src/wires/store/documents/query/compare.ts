/**
 * Where `a` stands to `b` in MongoDB's order of all values: below 0 before it, above 0 behind it, 0 if they are equal.
 * https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function compareValues(a: unknown, b: unknown): number {
  const order = rankOf(a) - rankOf(b)
  if (order !== 0) return order
  if (typeof a === 'string') return compareTexts(a, b as string)
  if (Array.isArray(a)) return compareArrays(a, b as unknown[])
  if (typeof a === 'object' && a !== null) return compareObjects(a as JsonObject, b as JsonObject)
  return Number(a) - Number(b)
}

type JsonObject = Readonly<Record<string, unknown>>

/** The place of a value's type in the order of types. */
export function rankOf(value: unknown): number {
  if (typeof value === 'number') return 1
  if (typeof value === 'string') return 2
  if (typeof value === 'boolean') return 5
  if (value === null) return 0
  return Array.isArray(value) ? 4 : 3
}

/** Compares by code points, which is the order of UTF-8: JavaScript's own is another one beyond U+D7FF. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xe000

function compareArrays(a: readonly unknown[], b: readonly unknown[]): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i], b[i])
    if (order !== 0) return order
  }
  return a.length - b.length
}

// Field by field in their order: first by the types of the values, then by the names, then by the values.
function compareObjects(a: JsonObject, b: JsonObject): number {
  const [namesOfA, namesOfB] = [Object.keys(a), Object.keys(b)]
  const length = Math.min(namesOfA.length, namesOfB.length)
  for (let i = 0; i < length; i++) {
    const [nameOfA, nameOfB] = [namesOfA[i]!, namesOfB[i]!]
    const [valueOfA, valueOfB] = [a[nameOfA], b[nameOfB]]
    const order =
      rankOf(valueOfA) - rankOf(valueOfB) ||
      compareTexts(nameOfA, nameOfB) ||
      compareValues(valueOfA, valueOfB)
    if (order !== 0) return order
  }
  return namesOfA.length - namesOfB.length
}
