import { ApiError, requireRow, sql, type WireContext } from 'sixwire'

import { errors } from './errors.ts'

export type Points = ReturnType<typeof createPoints>

/** The points of customers. Every rule is one statement or one batch, so it holds for concurrent calls, too. */
export function createPoints({ db, clock }: Pick<WireContext, 'db' | 'clock'>, welcomePoints: number) {
  const insertAccountSql = (userId: string) => sql`
    insert into loyalty_accounts (user_id, points) values (${userId}, ${welcomePoints})
    on conflict (user_id) do nothing`

  async function balance(userId: string): Promise<number> {
    const account = await db.get<{ points: number }>(
      sql`select points from loyalty_accounts where user_id = ${userId}`,
    )
    // An account is created by its first booking.
    return account?.points ?? welcomePoints
  }

  return {
    balance,

    /** Lists accounts that have a booking, by their users. @param after the last user of the page before */
    list: (limit: number, after = '') =>
      db.all<{ userId: string; points: number; bookings: number }>(sql`
        select user_id as "userId", points,
          (select count(*) from loyalty_bookings where loyalty_bookings.user_id = loyalty_accounts.user_id) as bookings
        from loyalty_accounts where user_id > ${after} order by user_id limit ${limit}`),

    /**
     * Adds points, or subtracts them if the number is negative, and returns the balance.
     *
     * @param id the id of the booking; a repetition with the same id changes nothing
     * @throws NOT_ENOUGH_POINTS if the balance would be negative
     */
    async book(id: string, userId: string, points: number): Promise<number> {
      const insertBookingSql = sql`
        insert into loyalty_bookings (id, user_id, points, booked_at)
        values (${id}, ${userId}, ${points}, ${clock.now()})
        on conflict (id) do nothing returning id`
      const updateBalanceSql = sql`
        update loyalty_accounts set points = points + ${points}
        where user_id = ${userId} and points + ${points} >= 0 returning points`
      try {
        await db.batch([
          insertAccountSql(userId),
          requireRow(insertBookingSql, () => errors.already_booked()),
          requireRow(updateBalanceSql, () => errors.not_enough_points()),
        ])
      } catch (error) {
        if (!(error instanceof ApiError && error.code === errors.already_booked.code)) throw error
      }
      return balance(userId)
    },
  }
}
