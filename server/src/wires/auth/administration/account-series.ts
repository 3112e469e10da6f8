import type { Clock } from '../../../base/clock.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { SERIES_DAYS, slotsSql, unitsOf, type Series, type SlotValue } from '../../../kernel/wire/series.ts'

const HOUR_MS = 3_600_000

/** Accounts that were made, and users who signed in or stayed signed in. */
export const accountSeries = ({ db }: { db: Database }): Series[] => [
  {
    name: 'sign-ups',
    title: 'Sign-ups',
    unit: 'count',
    kind: 'sum',
    parts: [''],
    opens: 'users',
    read: (slots) =>
      db.scan<SlotValue>(
        sql.once(sql`
          with ${slotsSql(slots)}
          select slot, '' as part, (
            select count(*) from auth_users where created_at >= begins and created_at < ends) as value
          from slots`),
      ),
  },
  {
    name: 'active-users',
    title: 'Active users',
    unit: 'count',
    kind: 'sum',
    isDistinct: true,
    parts: [''],
    opens: 'users',
    read: (slots) =>
      db.scan<SlotValue>(
        // By the hour, an index counts those whose hour before is too early, and reads no other row of a busy day.
        sql.once(sql`
          with recursive ${slotsSql(slots, unitsOf(HOUR_MS))},
          hours (slot, begins, ends, slot_hour) as (
            select slot, begins, ends, begins from slots where begins < ends
            union all select slot, begins, ends, slot_hour + 1 from hours where slot_hour + 1 < ends)
          select slot, '' as part, sum(
            (select count(*) from auth_active_hours where hour = slot_hour and previous_hour is null)
            + (select count(*) from auth_active_hours where hour = slot_hour and previous_hour < begins)) as value
          from hours group by slot`),
      ),
  },
]

/** Deletes the hours that no series counts any more. */
export async function forgetActivity({
  db,
  clock,
}: {
  db: Database
  clock: Pick<Clock, 'now'>
}): Promise<void> {
  const before = Math.floor(clock.now() / HOUR_MS) - SERIES_DAYS * 24
  await db.write(sql`delete from auth_active_hours where hour < ${before}`)
}
