import { DAY, HOUR, type Slot } from '../../base/time-slots.ts'
import type { ZoneOffsets } from '../../base/zone-offsets.ts'
import { sql, type Dialect, type Sql } from '../../db/sql.ts'
import type { Stages } from './aggregate-engine.ts'

/** How an engine computes with times, which are seconds since the first of March of the year 0. */
export type SlotEngine = {
  /** Ends a query of one stage, of which the next one is made, so that a value is computed once. */
  readonly fence: Sql
  /** The offset of a zone at a moment. */
  readonly offset: (moment: Sql, zone: ZoneOffsets) => Sql
  /** The month of a day, as `202605`. */
  readonly month: (day: Sql) => Sql
}

const sqliteSlots: SlotEngine = {
  fence: sql.literal('limit -1'),
  /** A search by halves, because a zone has up to hundreds of offsets. */
  offset(moment, { first, changes }) {
    const offsets = [first, ...changes.map(({ offset }) => offset)]
    const search = (low: number, high: number): Sql => {
      if (low === high) return sql`${offsets[low]!}`
      const middle = Math.ceil((low + high) / 2)
      return sql`case when ${moment} < ${changes[middle - 1]!.from} then ${search(low, middle - 1)} else ${search(middle, high)} end`
    }
    return search(0, changes.length)
  },
  month: (day) => sql`cast(strftime('%Y%m', (${day} - 719468) * 86400, 'unixepoch') as integer)`,
}

const postgresSlots: SlotEngine = {
  fence: sql.literal('offset 0'),
  offset(moment, { first, changes }) {
    if (changes.length === 0) return sql`${first}::bigint`
    const offsets = `{${[first, ...changes.map(({ offset }) => offset)].join()}}`
    const moments = `{${changes.map(({ from }) => from).join()}}`
    return sql`(${offsets}::bigint[])[1 + width_bucket(${moment}, ${moments}::bigint[])]`
  },
  month: (day) =>
    sql`cast(to_char(date '1970-01-01' + cast(${day} - 719468 as integer), 'YYYYMM') as integer)`,
}

export const slotEngines: Readonly<Record<Dialect, SlotEngine>> = {
  sqlite: sqliteSlots,
  postgres: postgresSlots,
}

/** Stages that make the column `g` and `n`, the number of the slot of a moment, behind those that make its column `x` and `n`. */
export function slotStages({ offset, month }: SlotEngine, slot: Slot, n: number, zone: ZoneOffsets): Stages {
  const moment = sql.literal(`x${n}`)
  const local = sql.literal(`l${n}`)
  const day = sql`(${local} / ${sql.literal(String(DAY))})`
  const numbers = {
    hour: sql`${moment} - ${local} % ${sql.literal(String(HOUR))}`,
    day,
    // The day from which days are counted was a Wednesday.
    week: sql`(${day} + 2) / 7 * 7 - 2`,
    month: month(day),
  }
  return [[[`l${n}`, sql`${moment} + ${offset(moment, zone)}`]], [[`g${n}`, numbers[slot]]]]
}
