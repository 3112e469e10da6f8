import type { Json } from './filter.ts'

const TYPES = ['null', 'number', 'string', 'object', 'array', 'boolean']

const typeOf = (value: Json): number =>
  TYPES.indexOf(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Below, at or above zero as MongoDB sorts `a` before, with or after `b`. Says plainly what `sortKeyOf` encodes. */
export function compareValues(a: Json, b: Json): number {
  if (typeOf(a) !== typeOf(b)) return typeOf(a) - typeOf(b)
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b)
  if (a === null) return 0
  const [fields, others] = [Object.entries(a), Object.entries(b as object) as [string, Json][]]
  for (const [i, [name, value]] of fields.entries()) {
    const other = others[i]
    if (!other) return 1
    const order =
      typeOf(value) - typeOf(other[1]) || compareValues(name, other[0]) || compareValues(value, other[1])
    if (order !== 0) return order
  }
  return fields.length - others.length
}
