const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Times on the wall of a time zone, written as if they were UTC, in milliseconds. */
export type ZonedTimes = {
  readonly wallTime: (instant: number) => number
  /** When a wall clock shows a time: the first time if it does twice, the end of the gap if it never does. */
  readonly instant: (wallTime: number) => number
}

/** Whether a time zone exists. */
export function isTimeZone(timeZone: string): boolean {
  try {
    return Boolean(formatOf(timeZone))
  } catch {
    return false
  }
}

// This one writes ISO 8601 with a blank.
const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })

/** Converts times of a time zone, which must exist. */
export function zonedTimes(timeZone: string): ZonedTimes {
  const format = formatOf(timeZone)
  const wallTime = (instant: number): number => {
    const ms = ((instant % 1000) + 1000) % 1000
    return Date.parse(`${format.format(instant - ms).replace(' ', 'T')}Z`) + ms
  }
  const offset = (instant: number): number => wallTime(instant) - instant
  return {
    wallTime,
    instant(wall) {
      const [before, after] = [offset(wall - DAY_MS), offset(wall + DAY_MS)]
      const instants = [wall - before, wall - after].filter((one) => wallTime(one) === wall)
      return instants.length > 0
        ? Math.min(...instants)
        : endOfGap(wall - after, wall - before, (at) => offset(at) === after)
    },
  }
}

/** The first minute between two times at which a clock has been set forward. */
function endOfGap(from: number, to: number, isAfter: (instant: number) => boolean): number {
  let [low, high] = [Math.floor(from / MINUTE_MS), Math.ceil(to / MINUTE_MS)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isAfter(middle * MINUTE_MS)) high = middle
    else low = middle
  }
  return high * MINUTE_MS
}
