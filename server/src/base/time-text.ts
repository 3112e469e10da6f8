import { invalid } from './errors.ts'

/** A day, or a time with its zone: `Date.parse` takes much else for a time of the server's zone. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/i

const DAY = /^\d{4}-\d\d-\d\d$/
const DAY_MS = 86_400_000
/** Where a time ends a period, which a day alone is part of. */
const END = /^\/query\/(?:to|until|activeUntil)$/

/** The moment that a text names, in milliseconds since 1970; undefined for text that is no time. */
export function momentOf(text: string): number | undefined {
  const time = TIME.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return time >= 0 ? time : undefined
}

/** Reads a time, in milliseconds since 1970; a day alone is its beginning, or its end at `/query/to`. @throws VALIDATION_ERROR */
export function timeOf(text: string, path: string): number {
  const time = momentOf(text)
  if (time === undefined) throw invalid({ path, message: 'must be a time like 2026-01-31T00:00:00Z' })
  return DAY.test(text) && END.test(path) ? time + DAY_MS : time
}
