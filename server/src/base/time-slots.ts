import { EPOCH, momentOfLocal, offsetOf, type ZoneOffsets } from './zone-offsets.ts'

/** The slots that times are grouped by. */
export const SLOTS = ['hour', 'day', 'week', 'month'] as const
export type Slot = (typeof SLOTS)[number]

export const HOUR = 3600
export const DAY = 86_400

/**
 * The beginning of a slot as text, with its offset: `2026-05-01T00:00:00+02:00`.
 *
 * @param number as the engines answer it: the moment at which an hour begins; else the first day, counted from `EPOCH` before
 *   1970, of a month as `202605`
 */
export function slotText(slot: Slot, number: number, zone: ZoneOffsets): string {
  return zonedText(slot === 'hour' ? number : momentOfLocal(zone, beginOf(slot, number)), zone)
}

/** A time from one moment until before another, in milliseconds since 1970. */
export type TimeRange = { readonly begins: number; readonly ends: number }

/**
 * The hours or days of a zone until now, oldest first; the last one has not ended.
 *
 * @param now milliseconds since 1970
 */
export function slotsUntil(now: number, slot: 'hour' | 'day', count: number, zone: ZoneOffsets): TimeRange[] {
  const moment = Math.floor(now / 1000) + EPOCH
  const length = slot === 'hour' ? HOUR : DAY
  const last = Math.floor((moment + offsetOf(zone, moment)) / length)
  // Hours have one length, and days do not.
  const first = moment - ((moment + offsetOf(zone, moment)) % HOUR)
  const begin = (n: number): number =>
    slot === 'hour' ? first + (n - last) * HOUR : momentOfLocal(zone, n * DAY)
  const ms = (n: number): number => (begin(n) - EPOCH) * 1000
  return Array.from({ length: count }, (_, at) => last - count + 1 + at).map((n) => ({
    begins: ms(n),
    ends: ms(n + 1),
  }))
}

/** A time with the offset of its zone, to the second: `2026-05-01T00:00:00+02:00`. */
export const zonedTime = (ms: number, zone: ZoneOffsets): string =>
  zonedText(Math.floor(ms / 1000) + EPOCH, zone)

function zonedText(moment: number, zone: ZoneOffsets): string {
  const offset = offsetOf(zone, moment)
  const local = new Date((moment - EPOCH + offset) * 1000).toISOString().slice(0, -5)
  return local + offsetText(offset)
}

/** The local time at which a day, a week or a month begins. */
const beginOf = (slot: Slot, number: number): number =>
  slot === 'month'
    ? EPOCH + new Date(0).setUTCFullYear(Math.floor(number / 100), (number % 100) - 1, 1) / 1000
    : number * DAY

function offsetText(seconds: number): string {
  if (seconds === 0) return 'Z'
  const minutes = Math.round(Math.abs(seconds) / 60)
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0')
  return `${seconds < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}
