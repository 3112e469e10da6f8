import { BoundedMap } from './bounded-map.ts'
import { invalid } from './errors.ts'

/** Seconds from the first of March of the year 0, where the count of days is easiest, to 1970. */
export const EPOCH = 719_468 * 86_400

/** The offset of a zone from a moment on, both in seconds; moments are counted from `EPOCH` before 1970. */
type Change = { readonly from: number; readonly offset: number }

/** The offsets of a time zone, so that both engines and the process reckon with the same ones. */
export type ZoneOffsets = {
  /** Until the first change. */
  readonly first: number
  readonly changes: readonly Change[]
}

const YEARS = [1900, 2100] as const
// No zone has ever gone back sooner than that from daylight saving time.
const STEP = 7 * 86_400
const CACHED_ZONES = 100

const zones = new BoundedMap<string, ZoneOffsets>(CACHED_ZONES)

/**
 * The offsets of a time zone from 1900 to 2100; before and behind that the first and the last one go on.
 *
 * @param name of the IANA database, such as `Europe/Berlin`
 * @throws VALIDATION_ERROR at `/query/timeZone`
 */
export function zoneOffsets(name: string): ZoneOffsets {
  const known = zones.get(name)
  if (known) return known
  const offsets = readOffsets(formatOf(name))
  zones.set(name, offsets)
  return offsets
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const two = {
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  } as const
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric', ...two })
  } catch {
    throw invalid({
      path: '/query/timeZone',
      message: `${JSON.stringify(timeZone)} is not a time zone: give a name such as Europe/Berlin.`,
    })
  }
}

function readOffsets(format: Intl.DateTimeFormat): ZoneOffsets {
  const [begin, end] = YEARS.map((year) => EPOCH + Date.UTC(year, 0) / 1000) as [number, number]
  const first = offsetAt(format, begin)
  const changes: Change[] = []
  let before = first
  for (let at = begin; at < end; at += STEP) {
    const offset = offsetAt(format, at + STEP)
    if (offset === before) continue
    changes.push({ from: firstSecond(format, at, at + STEP, offset), offset })
    before = offset
  }
  return { first, changes }
}

/** The first second at which the zone has an offset that it does not have at `low`, but at `high`. */
function firstSecond(format: Intl.DateTimeFormat, low: number, high: number, offset: number): number {
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(format, middle) === offset) high = middle
    else low = middle
  }
  return high
}

function offsetAt(format: Intl.DateTimeFormat, moment: number): number {
  const seconds = moment - EPOCH
  const [month, day, year, hour, minute, second] = format
    .format(seconds * 1000)
    .match(/\d+/g)!
    .map(Number)
  return Date.UTC(year!, month! - 1, day, hour, minute, second) / 1000 - seconds
}

/** The offset of a zone at a moment. */
export function offsetOf({ first, changes }: ZoneOffsets, moment: number): number {
  return changes.findLast(({ from }) => from <= moment)?.offset ?? first
}

/** The first moment at which clocks of a zone show a local time, or a later one if they skip it. */
export function momentOfLocal({ first, changes }: ZoneOffsets, local: number): number {
  let from = -Infinity
  let offset = first
  for (const change of changes) {
    if (local - offset < change.from) break
    ;({ from, offset } = change)
  }
  return Math.max(local - offset, from)
}
