import { isObject, type Json } from '../query/filter.ts'
import { refused, type Operator } from './field-change.ts'

/**
 * `$currentDate`: https://www.mongodb.com/docs/manual/reference/operator/update/currentDate/
 * The time is text as in `updatedAt`, because JSON has no dates; nor has it BSON's timestamps.
 */
export const currentDate: Operator = (operand, { at }) => {
  if (operand !== true && !isDateType(operand))
    throw refused(
      at,
      '$currentDate takes true or {"$type": "date"}, and sets the time as text, like that of updatedAt.',
    )
  return (_, { now }) => now
}

const isDateType = (operand: Json): boolean =>
  isObject(operand) && Object.keys(operand).join() === '$type' && operand['$type'] === 'date'
