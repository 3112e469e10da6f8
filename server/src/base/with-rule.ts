import type { Static, TSchema } from 'typebox'

import type { Issue } from './errors.ts'

/** What is wrong with a value: a sentence, or a sentence with a JSON pointer into the value. */
export type Fault = string | Issue

/**
 * Adds a rule to a schema that JSON Schema cannot express. Validation lists its fault together with all others of the
 * request; the description at `/openapi.json` does not show it.
 *
 * @param fault is called only with values of the schema's own type: text, an array or an object. Elements and members
 *   may still be of another type than their schema says: that is a fault of its own.
 * @example
 * const Pair = withRule(Type.Object({ a: Type.String(), b: Type.String() }), ({ a, b }) =>
 *   a === b ? { path: '/b', message: 'must differ from a' } : undefined,
 * )
 */
export const withRule = <S extends TSchema>(schema: S, fault: (value: Static<S>) => Fault | undefined): S =>
  Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(schema), [RULE]: { value: fault } }) as S

/** The keyword of the rule for the compiler of schemas. */
export const RULE = 'rule'
