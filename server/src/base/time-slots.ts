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
  const moment = slot === 'hour' ? number : momentOfLocal(zone, beginOf(slot, number))
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
