import { Type } from '../base/schema.ts'
import { timeOf } from '../base/time-text.ts'

/** A time that a list is filtered by. */
export const TimeFilter = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description, examples: ['2026-01-01T00:00:00.000Z'] }))

/** The parameters of lists that are filtered by the time of creation. */
export const CreatedQuery = {
  since: TimeFilter('Created at this time or later.'),
  until: TimeFilter('Created before this time.'),
}

/**
 * The times that a query names, in milliseconds since 1970, by the names of its parameters.
 *
 * @throws VALIDATION_ERROR at `/query/…`
 */
export function timesOf<N extends string>(
  query: { readonly [K in NoInfer<N>]?: string | undefined },
  ...names: readonly N[]
): { [K in N]?: number } {
  const times = names.map((name) => [name, query[name]] as const)
  return Object.fromEntries(
    times.flatMap(([name, text]) => (text === undefined ? [] : [[name, timeOf(text, `/query/${name}`)]])),
  ) as { [K in N]?: number }
}
