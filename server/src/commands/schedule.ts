import { loadConfig } from '../app.ts'
import { isoTime } from '../base/clock.ts'
import { checkSchedules, type Schedule } from '../kernel/schedule/schedule-option.ts'
import { configuredWires } from '../wires.ts'
import { defineAction } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print, table } from './print.ts'

const TIMES = 3

export const schedule = defineAction({
  summary: 'Show when scheduled work runs next',
  options: JSON_OPTION,
  details: `Prints the next ${TIMES} times of each schedule of the configuration, in its own time zone and in UTC, without a
database. Work that has failed is in sixwire jobs.`,
  async run({ options: { json } }) {
    const config = await loadConfig(process.cwd())
    configuredWires(config)
    const now = Date.now()
    const schedules = await checkSchedules(config.schedule, now)
    const all = schedules.map((one) => ({ ...one, next: nextTimes(one, now) }))
    print(
      json,
      all.map(({ name, cron, timeZone, missed, next }) => ({
        name,
        cron,
        timeZone,
        missed,
        next: next.map(isoTime),
      })),
      () =>
        table(
          ['NAME', 'CRON', 'TIME ZONE', 'NEXT', 'UTC'],
          all.flatMap(({ name, cron, timeZone, next }) =>
            next.map((at, index) => [
              ...(index === 0 ? [name, cron, timeZone] : ['', '', '']),
              localTime(at, timeZone),
              isoTime(at),
            ]),
          ),
        ),
    )
    return 0
  },
})

function nextTimes({ times }: Schedule, now: number): number[] {
  const found: number[] = []
  for (let at = times.next(now); at !== undefined && found.length < TIMES; at = times.next(at)) found.push(at)
  return found
}

/** `Mon 2027-03-29 07:00` */
function localTime(at: number, timeZone: string): string {
  const day = new Intl.DateTimeFormat('en', { timeZone, weekday: 'short' }).format(at)
  // This one writes ISO 8601 with a blank.
  const time = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  return `${day} ${time.format(at)}`
}
