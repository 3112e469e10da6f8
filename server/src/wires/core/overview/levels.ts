import type { TimeRange } from '../../../base/time-slots.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import {
  SERIES_DAYS,
  slotsSql,
  unitsOf,
  type SeriesValue,
  type SlotValue,
} from '../../../kernel/wire/series.ts'

const HOUR_MS = 3_600_000

/** Keeps the samples of a series: the largest of each hour. */
export async function keepLevels(
  db: Database,
  series: string,
  values: readonly SeriesValue[],
  now: number,
): Promise<void> {
  const hour = Math.floor(now / HOUR_MS)
  await db.batch(
    values.map(
      ({ part, value }) => sql`
        insert into sixwire_levels as known (series, part, hour, value)
        values (${series}, ${part}, ${hour}, ${Math.round(Number(value))})
        on conflict (series, hour, part) do update set
          value = case when excluded.value > known.value then excluded.value else known.value end`,
    ),
  )
}

/** Deletes the samples that no range shows any more. */
export const forgetLevels = async (db: Database, now: number): Promise<void> =>
  void (await db.write(
    sql`delete from sixwire_levels where hour < ${Math.floor(now / HOUR_MS) - SERIES_DAYS * 24}`,
  ))

/** The last sample in each time. */
export const readLevels = (db: Database, series: string, slots: readonly TimeRange[]): Promise<SlotValue[]> =>
  db.scan<{ slot: number; part: string; value: number }>(
    sql.once(sql`
      with ${slotsSql(slots, unitsOf(HOUR_MS))}
      select slot, part, value from slots cross join sixwire_levels
      where series = ${series} and hour = (
        select max(hour) from sixwire_levels where series = ${series} and hour >= begins and hour < ends)`),
  )
