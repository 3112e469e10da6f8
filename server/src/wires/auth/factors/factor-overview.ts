import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import { sql } from '../../../db/sql.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { Users } from '../accounts/users.ts'
import type { FactorRequirement } from './factor-requirement.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** The second factors of an account, and whether it needs one. */
export type FactorOverview = {
  of(
    caller: UserCaller,
  ): Promise<{ passkeys: number; totp: boolean; recoveryCodes: number; required: boolean; dueAt?: string }>
}

type Counts = { passkeys: number; totp: number; codes: number }

export const createFactorOverview = (
  { db }: Pick<WireContext, 'db'>,
  { users, requirement }: { users: Users; requirement: FactorRequirement },
): FactorOverview => ({
  async of({ id, role }) {
    const [user, counts] = await Promise.all([
      users.byId(id),
      db.get(sql<Counts>`
        select
          (select count(*) from auth_passkeys where user_id = ${id}) as passkeys,
          (select count(*) from auth_totp where user_id = ${id}) as totp,
          (select count(*) from auth_recovery_codes where user_id = ${id} and used_at is null) as codes`),
    ])
    if (!user || !counts) throw errors.unauthorized()
    const dueAt = requirement.dueAt(user, role)
    return {
      passkeys: counts.passkeys,
      totp: counts.totp > 0,
      recoveryCodes: counts.codes,
      required: requirement.appliesTo(role),
      ...(dueAt !== undefined && { dueAt: isoTime(dueAt) }),
    }
  },
})
