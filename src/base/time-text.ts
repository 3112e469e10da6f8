import { invalid } from './errors.ts'

/** A day, or a time with its zone: `Date.parse` takes much else for a time of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/i

/** Reads a time, in milliseconds since 1970. @throws VALIDATION_ERROR */
export function timeOf(text: string, path: string): number {
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time) || time < 0)
    throw invalid({ path, message: 'must be a time like 2026-01-31T00:00:00Z' })
  return time
}
