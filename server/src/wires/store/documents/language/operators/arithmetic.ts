import type { Json } from '../query/filter.ts'
import { toWide } from '../query/matcher.ts'
import { nameOfType, refused, type Operator } from './field-change.ts'

/** `$inc`: https://www.mongodb.com/docs/manual/reference/operator/update/inc/ */
export const increment = computed('$inc', {
  compute: (old, amount) => old + amount,
  computeWide: (old, amount) => old + amount,
  result: 'sum',
})

/** `$mul`: https://www.mongodb.com/docs/manual/reference/operator/update/mul/ */
export const multiply = computed('$mul', {
  compute: (old, factor) => old * factor + 0, // not -0
  computeWide: (old, factor) => old * factor,
  result: 'product',
})

type Arithmetic = {
  readonly compute: (old: number, operand: number) => number
  /** Likewise of integers, with all of their digits. */
  readonly computeWide: (old: bigint, operand: bigint) => bigint
  readonly result: string
}

/** An operator that computes with a number; a missing field is 0. */
function computed(operator: string, { compute, computeWide, result }: Arithmetic): Operator {
  return (operand, { at }) => {
    if (typeof operand !== 'number') throw refused(at, `${operator} takes a number.`)
    return (old = 0) => {
      if (typeof old !== 'number')
        throw refused(at, `${operator} changes a number, and the document has ${nameOfType(old)} here.`)
      const value = compute(old, operand)
      if (!Number.isFinite(value)) throw refused(at, `The ${result} is too large for a number.`)
      if (!isExact([old, operand, value], () => computeWide(toWide(old), toWide(operand))))
        throw refused(at, `The ${result} is beyond 2^53, and no number has exactly this value.`)
      return value
    }
  }
}

/** JSON writes whole numbers below this with all of their digits. */
const DIGITS_END = 1e21

/** Whether the digits that clients read are right. MongoDB has integers of 64 bits, JSON doubles, which would count no further. */
function isExact(
  numbers: readonly [old: number, operand: number, value: number],
  wide: () => bigint,
): boolean {
  const value = numbers[2]
  if (Number.isSafeInteger(value)) return true
  const haveDigits = numbers.every(
    (one: Json) => Number.isInteger(one) && Math.abs(one as number) < DIGITS_END,
  )
  return !haveDigits || wide() === toWide(value)
}
