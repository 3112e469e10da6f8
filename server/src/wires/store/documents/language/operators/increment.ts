import type { Json } from '../query/filter.ts'
import { toWide } from '../query/matcher.ts'
import { nameOfType, refused, type Operator } from './field-change.ts'

/** `$inc`: https://www.mongodb.com/docs/manual/reference/operator/update/inc/ */
export const increment: Operator = (amount, { at }) => {
  if (typeof amount !== 'number') throw refused(at, '$inc takes a number.')
  return (old: Json = 0) => {
    if (typeof old !== 'number')
      throw refused(at, `$inc adds to a number, and the document has ${nameOfType(old)} here.`)
    const sum = old + amount
    if (!Number.isFinite(sum)) throw refused(at, 'The sum is too large for a number.')
    if (!isExact(old, amount, sum))
      throw refused(at, 'The sum is beyond 2^53, and no number has exactly this value.')
    return sum
  }
}

/** JSON writes whole numbers below this with all of their digits. */
const DIGITS_END = 1e21

/** Whether the digits that clients read add up. MongoDB has integers of 64 bits, JSON doubles, which would count no further. */
function isExact(old: number, amount: number, sum: number): boolean {
  if (Number.isSafeInteger(sum)) return true
  const haveDigits = [old, amount, sum].every(
    (number) => Number.isInteger(number) && Math.abs(number) < DIGITS_END,
  )
  return !haveDigits || toWide(old) + toWide(amount) === toWide(sum)
}
