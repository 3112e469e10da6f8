import { ApiError, requireRow, sql, type WireContext } from 'sixwire'

import { errors } from './errors.ts'

export type Points = ReturnType<typeof createPoints>

/** Points of users. Every rule is one statement, or one batch that happens whole. */
export function createPoints({ db, clock }: Pick<WireContext, 'db' | 'clock'>, welcomePoints: number) {
  const open = (userId: string) => sql`
    insert into loyalty_accounts (user_id, points) values (${userId}, ${welcomePoints})
    on conflict (user_id) do nothing`

  async function balance(userId: string): Promise<number> {
    const account = await db.get<{ points: number }>(
      sql`select points from loyalty_accounts where user_id = ${userId}`,
    )
    // An account is opened with its first booking.
    return account?.points ?? welcomePoints
  }

  return {
    balance,

    /**
     * Gives points, or spends them where the number is negative; answers what is left.
     *
     * @param id the booking's own: the same one again books nothing more
     * @throws not_enough_points, however many spend at the same moment
     */
    async book(id: string, userId: string, points: number): Promise<number> {
      const booked = sql`
        insert into loyalty_bookings (id, user_id, points, booked_at)
        values (${id}, ${userId}, ${points}, ${clock.now()})
        on conflict (id) do nothing returning id`
      const changed = sql`
        update loyalty_accounts set points = points + ${points}
        where user_id = ${userId} and points + ${points} >= 0 returning points`
      try {
        await db.batch([
          open(userId),
          requireRow(booked, () => errors.already_booked()),
          requireRow(changed, () => errors.not_enough_points()),
        ])
      } catch (error) {
        if (!(error instanceof ApiError && error.code === errors.already_booked.code)) throw error
      }
      return balance(userId)
    },
  }
}
