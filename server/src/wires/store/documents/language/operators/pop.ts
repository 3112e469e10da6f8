import { arrayOf, refused, type Operator } from './field-change.ts'

/** `$pop`: https://www.mongodb.com/docs/manual/reference/operator/update/pop/ */
export const pop: Operator = (operand, { at }) => {
  if (operand !== 1 && operand !== -1)
    throw refused(at, '$pop takes 1 for the last element of an array, or -1 for the first.')
  return (old) => {
    if (old === undefined) return undefined
    const array = arrayOf(old, '$pop', at)
    return operand === 1 ? array.slice(0, -1) : array.slice(1)
  }
}
