import { Type } from '../../server/src/base/schema.ts'
import type { Static, TSchema } from 'typebox'

import { createValidation, type RequestPart } from '../../server/src/http/validation.ts'

/** The longest list that is answered. */
export const LIST_MAX = 1_000

/**
 * Makes the function that reads a part of a request.
 *
 * @throws VALIDATION_ERROR with the path of each fault
 */
export function readerOf<S extends TSchema>(part: RequestPart, schema: S): (given: unknown) => Static<S> {
  const check = createValidation()(part, schema)
  return (given) => {
    const result = check(given)
    if ('error' in result) throw result.error
    return result.value as Static<S>
  }
}

/** Makes the function that reads the query of a list of messages: `?to=&limit=`, and parameters of its own. */
export const createListReader = <P extends Record<string, TSchema>>(own: P) =>
  readerOf(
    'query',
    Type.Object({
      ...own,
      to: Type.Optional(Type.String()),
      limit: Type.Integer({ minimum: 1, maximum: LIST_MAX, default: LIST_MAX }),
    }),
  )
