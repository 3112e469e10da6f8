import type { Static, TSchema } from 'typebox'

import type { Issue } from './errors.ts'

/** What is wrong with a value: a sentence, or one with a JSON pointer to the place within the value. */
export type Fault = string | Issue

/**
 * Adds to a schema a rule that JSON Schema has no word for. Validation lists its fault together with all others of the
 * request; the description at `/openapi.json` does not show it.
 *
 *     const Even = withRule(Type.Object({ a: Type.String(), b: Type.String() }), ({ a, b }) =>
 *       a === b ? { path: '/b', message: 'must be another one than a' } : undefined)
 *
 * @param fault is given only what has the schema's own type: text, an array or an object. What an array or object holds
 *   may be of another type than its schema says: that is a fault of its own.
 */
export const withRule = <S extends TSchema>(schema: S, fault: (value: Static<S>) => Fault | undefined): S =>
  Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(schema), [RULE]: { value: fault } }) as S

/** The keyword that holds the rule, where schemas are compiled. */
export const RULE = 'rule'
