import { ApiError, must, sql, type Database } from 'sixwire'

import { errors } from './errors.ts'

/** Points of users. Every rule is one statement, or one batch that happens whole. */
export function createPoints(db: Database, welcomePoints: number) {
  const open = (userId: string) => sql`
    insert into loyalty_accounts (user_id, points) values (${userId}, ${welcomePoints})
    on conflict (user_id) do nothing`

  async function balance(userId: string): Promise<number> {
    await db.write(open(userId))
    const account = await db.get<{ points: number }>(
      sql`select points from loyalty_accounts where user_id = ${userId}`,
    )
    return account!.points
  }

  return {
    balance,

    /** @param id the grant's own id: the same one again grants nothing more */
    async grant(id: string, userId: string, points: number): Promise<number> {
      const granted = sql`
        insert into loyalty_grants (id, user_id, points) values (${id}, ${userId}, ${points})
        on conflict (id) do nothing returning id`
      const added = sql`update loyalty_accounts set points = points + ${points} where user_id = ${userId}`
      try {
        await db.batch([open(userId), must(granted, () => errors.already_granted()), added])
      } catch (error) {
        if (!(error instanceof ApiError && error.code === errors.already_granted.code)) throw error
      }
      return balance(userId)
    },

    /** @throws not_enough_points, however many redeem at the same moment */
    async redeem(userId: string, points: number): Promise<number> {
      const [, spent] = await db.batch([
        open(userId),
        must(
          sql`
            update loyalty_accounts set points = points - ${points}
            where user_id = ${userId} and points >= ${points} returning points`,
          () => errors.not_enough_points(),
        ),
      ])
      return Number(spent![0]!['points'])
    },
  }
}
