import type { Clock } from '../../../base/clock.ts'
import { slotsUntil, zonedTime, type TimeRange } from '../../../base/time-slots.ts'
import { within } from '../../../base/within.ts'
import { zoneOffsets } from '../../../base/zone-offsets.ts'
import type { Database } from '../../../db/database.ts'
import type { Series, SlotValue } from '../../../kernel/wire/series.ts'
import { forgetLevels, keepLevels, readLevels } from './levels.ts'

const READ_LIMIT_MS = 5_000

/** The ranges, each with its slots. */
export const RANGES = {
  '24h': { slot: 'hour', count: 24 },
  '7d': { slot: 'day', count: 7 },
  '30d': { slot: 'day', count: 30 },
  '90d': { slot: 'day', count: 90 },
} as const
export type SeriesRange = keyof typeof RANGES

export type SeriesOfWire = { readonly wire: string; readonly series: Series }

/** A part of a series. Its numbers are whole, in decimal text; of money they are in the smallest unit of the currency. */
export type ShownPart = {
  part: string
  exponent?: number
  /** Of each slot; null: no sample is so old. */
  values: (string | null)[]
  total: string
  /** The total of the period before, until the same time of it; null: no sample is so old. */
  before: string | null
}

export type ShownSeries = Pick<Series, 'name' | 'title' | 'unit' | 'kind' | 'opens'> & {
  wire: string
  parts: ShownPart[]
}

export type SeriesReply = {
  range: SeriesRange
  /** When each slot begins, in the zone. */
  slots: string[]
  from: string
  until: string
  series: ShownSeries[]
}

type Context = { db: Database; clock: Pick<Clock, 'now'> }

/**
 * Reads series of a range until now, and of the period before. A series that fails or takes longer than 5 seconds is left out.
 *
 * @throws VALIDATION_ERROR for a time zone that does not exist
 */
export async function readSeries(
  context: Context,
  all: readonly SeriesOfWire[],
  { range, timeZone = 'UTC' }: { range: SeriesRange; timeZone?: string | undefined },
): Promise<SeriesReply> {
  const zone = zoneOffsets(timeZone)
  const { slot, count } = RANGES[range]
  const now = context.clock.now()
  const slots = slotsUntil(now, slot, 2 * count, zone)
  const shown = slots.slice(count)
  const period: Period = { slots: shown, ...totalsOf(slots, count, now) }
  const series = await Promise.all(
    all.map(async (one) => {
      const parts = await within(READ_LIMIT_MS, () => readParts(context, one, period)).catch(() => undefined)
      if (!parts) return []
      const { name, title, unit, kind, opens } = one.series
      return [{ wire: one.wire, name, title, unit, kind, ...(opens !== undefined && { opens }), parts }]
    }),
  )
  return {
    range,
    slots: shown.map(({ begins }) => zonedTime(begins, zone)),
    from: new Date(shown[0]!.begins).toISOString(),
    until: new Date(now).toISOString(),
    series: series.flat(),
  }
}

/** The slots of a period, the period, and the period before until the same time of it. */
type Period = { slots: readonly TimeRange[]; all: TimeRange; before: TimeRange }

function totalsOf(slots: readonly TimeRange[], count: number, now: number): Omit<Period, 'slots'> {
  const [first, last, begin] = [slots[0]!, slots.at(-1)!, slots[count]!]
  const lastBefore = slots[count - 1]!
  return {
    all: { begins: begin.begins, ends: last.ends },
    // The current slot has not ended: neither does the one that it is compared with.
    before: {
      begins: first.begins,
      ends: Math.min(lastBefore.ends, lastBefore.begins + (now - last.begins)),
    },
  }
}

async function readParts({ db }: Context, { wire, series }: SeriesOfWire, period: Period) {
  const { slots, all, before } = period
  const isLevel = series.kind === 'level'
  // Behind the slots: the period before, and what counts once in all slots together.
  const ranges = [...slots, before, ...(series.kind === 'sum' && series.isDistinct ? [all] : [])]
  const values = isLevel
    ? [
        ...(await readLevels(db, `${wire} ${series.name}`, ranges)),
        ...(await series.sample()).map((one) => ({ ...one, slot: slots.length - 1 })),
      ]
    : await series.read(ranges)
  const tables = tabulate(values, ranges.length, series.parts ?? [])
  return [...tables].map(([part, { exponent, row }]): ShownPart => {
    const known = isLevel ? filledLevels(row.slice(0, slots.length)) : row.slice(0, slots.length)
    const inAll = row[slots.length + 1]
    const total = isLevel
      ? (known.at(-1) ?? 0n)
      : ranges.length > slots.length + 1
        ? (inAll ?? 0n)
        : known.reduce<bigint>((sum, value) => sum + (value ?? 0n), 0n)
    // What did not happen is 0; a level without a sample is not known.
    const textOf = (value: bigint | undefined): string | null =>
      value === undefined && isLevel ? null : String(value ?? 0n)
    return {
      part,
      ...(exponent !== undefined && { exponent }),
      values: known.map(textOf),
      total: String(total),
      before: textOf(row[slots.length]),
    }
  })
}

type Row = { exponent: number | undefined; row: (bigint | undefined)[] }

/** The values of each part in the order of its ranges; a currency that two providers write in different units is two parts. */
function tabulate(
  values: readonly SlotValue[],
  length: number,
  first: readonly string[],
): Map<string, Row & { part: string }> {
  const table = new Map<string, Row & { part: string }>()
  const rowOf = (part: string, exponent?: number) => {
    const key = exponent === undefined || !isTaken(table, part, exponent) ? part : `${part} (${exponent})`
    const row = table.get(key) ?? {
      part: key,
      exponent,
      row: Array<bigint | undefined>(length).fill(undefined),
    }
    table.set(key, row)
    return row
  }
  for (const part of first) rowOf(part)
  for (const { slot, part, value, exponent } of values) rowOf(part, exponent).row[slot] = BigInt(value)
  return table
}

const isTaken = (table: ReadonlyMap<string, Row>, part: string, exponent: number): boolean => {
  const known = table.get(part)
  return known !== undefined && known.exponent !== exponent
}

/** A level stays as it was until the next sample. */
function filledLevels(row: readonly (bigint | undefined)[]): (bigint | undefined)[] {
  let last: bigint | undefined
  return row.map((value) => (last = value ?? last))
}

/** Samples all levels, one after the other; one that fails is left out. */
export async function sampleLevels(context: Context, all: readonly SeriesOfWire[]): Promise<void> {
  const now = context.clock.now()
  for (const { wire, series } of all) {
    if (series.kind !== 'level') continue
    const values = await within(READ_LIMIT_MS, () => series.sample()).catch(() => [])
    if (values.length > 0) await keepLevels(context.db, `${wire} ${series.name}`, values, now)
  }
  await forgetLevels(context.db, now)
}
