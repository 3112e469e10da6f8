import { Cron } from 'croner'

import { zonedTimes } from './zone.ts'

/** The times of a cron expression in a time zone, in milliseconds since 1970. */
export type CronTimes = {
  /** The first time after `after`; undefined if there never is one, as for 30 February. */
  next(after: number): number | undefined
  /** The last time that is not after `until`; undefined if there is none. */
  newest(until: number): number | undefined
}

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
}
const FIELDS = ['minute', 'hour', 'day of the month', 'month', 'day of the week']
// Without croner's own letters L, W, # and ?, which other crons do not have.
const FIELD = /^(?:\*|\d{1,2}|[a-z]{3})(?:-(?:\d{1,2}|[a-z]{3}))?(?:\/\d{1,2})?$/i
const HOUR = 1
// Longer than a clock that is set back shows the same times again.
const REPEATED_MS = 3 * 3_600_000

/**
 * Reads a cron expression of five fields, or one of `@hourly @daily @weekly @monthly @yearly`. Where both days are
 * restricted, either may fit: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html
 *
 * In an hour that summer time skips it is due at the end of the gap, and in one that is there twice, the first time. If
 * the hour is `*`, it goes by the time that passes instead.
 *
 * @param timeZone an IANA name that exists
 * @throws TypeError with the sentence that says what is wrong
 */
export function cronTimes(expression: string, timeZone: string): CronTimes {
  const fields = fieldsOf(expression)
  if (fields[HOUR] === '*') return timesOf(jobOf(fields, timeZone))
  const { wallTime, instant } = zonedTimes(timeZone)
  const wall = timesOf(jobOf(fields, 'UTC'))
  return {
    next(after) {
      let time = wall.next(wallTime(after))
      while (time !== undefined && instant(time) <= after) time = wall.next(time)
      return time === undefined ? undefined : instant(time)
    },
    newest(until) {
      // While an hour passes for the second time, all of it was due the first time.
      const latest = Math.max(wallTime(until), wallTime(until - REPEATED_MS) + REPEATED_MS)
      let time = wall.newest(latest)
      while (time !== undefined && instant(time) > until) time = wall.newest(time - 1)
      return time === undefined ? undefined : instant(time)
    },
  }
}

function fieldsOf(expression: string): string[] {
  const nicknames = Object.keys(NICKNAMES).join(', ')
  const text = expression.startsWith('@') ? NICKNAMES[expression] : expression
  if (text === undefined) throw new TypeError(`there is no ${expression}: there are ${nicknames}`)
  const fields = text.trim().split(/\s+/)
  if (fields.length !== FIELDS.length)
    throw new TypeError(`it takes five fields, like 0 7 * * 1-5, or one of ${nicknames}`)
  for (const [at, field] of fields.entries())
    if (!isField(field, at)) throw new TypeError(`the ${FIELDS[at]} can't be "${field}"`)
  return fields
}

function isField(field: string, at: number): boolean {
  if (!field.split(',').every((one) => FIELD.test(one))) return false
  try {
    jobOf(
      FIELDS.map((_, other) => (other === at ? field : '*')),
      'UTC',
    )
    return true
  } catch {
    return false
  }
}

const jobOf = (fields: readonly string[], timezone: string): Cron =>
  new Cron(fields.join(' '), { timezone, mode: '5-part', paused: true })

// Croner's previous times are those before a time, to the second.
const timesOf = (job: Cron): CronTimes => ({
  next: (after) => job.nextRun(new Date(after))?.getTime(),
  newest: (until) => job.previousRuns(1, new Date(until + 1))[0]?.getTime(),
})
