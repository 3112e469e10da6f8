import type { Logger } from '../../base/logger.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { StartError } from '../../base/start-error.ts'
import { checkFields, FUNCTION, isPlain, oneOf, optional, shown, TEXT } from '../config/fields.ts'
import type { CronTimes } from './cron.ts'
import { isTimeZone } from './zone.ts'

/** What the work of a schedule gets beside what the wires add. */
export type ScheduledRun = {
  /** Its lines name the schedule. */
  readonly log: Logger
  /** The time for which it runs; a missed one is in the past. */
  readonly due: Date
  /** Aborts when the server ends: what is thrown after that is no attempt, and the work runs again after the next start. */
  readonly signal: AbortSignal
}

/** Work that runs at certain times, once for each of them over all replicas. */
export type ScheduledWork<Context = unknown> = {
  /** Five fields: minute, hour, day of the month, month, day of the week; or `@hourly @daily @weekly @monthly @yearly`. */
  readonly cron: string
  /** An IANA name such as `Europe/Zurich`. Default: `UTC`. */
  readonly timeZone?: string
  /**
   * What happens if no server ran at a time: `once` runs the last missed time as soon as a server runs; `skip` leaves out
   * what is late by more than a minute. Default: `once`.
   */
  readonly missed?: 'once' | 'skip'
  /** The work. It may run again after a crash or a fault, so repeating it must be harmless. */
  readonly run: (context: Context & ScheduledRun) => Promise<void> | void
}

/** A schedule that is checked, with its defaults. */
export type Schedule = Required<ScheduledWork<Record<string, unknown>>> & {
  readonly name: string
  readonly times: CronTimes
}

const FIELDS = {
  cron: TEXT,
  timeZone: optional(TEXT),
  missed: optional(oneOf(['once', 'skip'])),
  run: FUNCTION,
}
const NAME = /^[a-zA-Z][a-zA-Z\d_-]{0,63}$/

/**
 * Checks the schedules of a configuration, and adds their defaults.
 *
 * @param now milliseconds since 1970: a schedule without a time after it is refused
 * @throws StartError with the schedule and what is wrong with it
 */
export async function checkSchedules(option: unknown, now: number): Promise<Schedule[]> {
  if (option === undefined) return []
  if (!isPlain(option))
    throw new StartError("schedule: write an object, like { digest: { cron: '@daily', run } }")
  return Promise.all(Object.entries(option).map(([name, one]) => checkSchedule(name, one, now)))
}

async function checkSchedule(name: string, option: unknown, now: number): Promise<Schedule> {
  const where = `schedule.${name}`
  if (!NAME.test(name))
    throw new StartError(
      `schedule: ${shown(name)} can't be a name: it takes a letter, then up to 63 letters, digits, _ and -`,
    )
  if (!isPlain(option)) throw new StartError(`${where}: write an object, like { cron: '@daily', run }`)
  checkFields(where, option, FIELDS)
  const { cron, timeZone = 'UTC', missed = 'once', run } = option as ScheduledWork<Record<string, unknown>>
  if (!isTimeZone(timeZone))
    throw new StartError(
      `${where}.timeZone: there is no time zone "${timeZone}"${didYouMean(timeZone, Intl.supportedValuesOf('timeZone')) || ': write an IANA name, like Europe/Zurich'}`,
    )
  return { name, cron, timeZone, missed, run, times: await timesOf(where, { cron, timeZone }, now) }
}

async function timesOf(
  where: string,
  { cron, timeZone }: Pick<Schedule, 'cron' | 'timeZone'>,
  now: number,
): Promise<CronTimes> {
  // Loaded only if there is a schedule.
  const { cronTimes } = await import('./cron.ts')
  try {
    const times = cronTimes(cron, timeZone)
    if (times.next(now) !== undefined) return times
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new StartError(`${where}.cron: ${error.message}`, { cause: error })
  }
  throw new StartError(`${where}.cron: "${cron}" never comes: there is no such day`)
}
