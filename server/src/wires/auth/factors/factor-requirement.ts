import type { Step } from '../../../db/database.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import type { Role, UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

/** Which accounts must have a second factor: none, those of administrators, or all. */
export type SecondFactorPolicy = 'optional' | 'admins' | 'required'

const DAY_MS = 86_400_000

type FactorStatus = Pick<UserRow, 'id' | 'second_factor_at' | 'second_factor_due_at'>

/** Which accounts must have a second factor, and from when. */
export type FactorRequirement = {
  /** Whether the policy asks for a factor from an account with this role. */
  appliesTo(role: Role): boolean
  /** When an account that has no factor can only add one, in milliseconds since 1970; undefined if that is never. */
  dueAt(user: FactorStatus, role: Role): number | undefined
  /**
   * The steps of a sign-in that begin the time in which the account has to get a factor, and tell its owner by email; none if
   * it has begun, or no factor is needed.
   */
  beginSql(user: FactorStatus, role: Role): readonly Step[]
}

/** @param options.graceDays from the first sign-in to which the policy applies */
export function createFactorRequirement(
  { clock }: Pick<WireContext, 'clock'>,
  { users, mails }: { users: Users; mails: AccountMails },
  { policy, graceDays }: { policy: SecondFactorPolicy; graceDays: number },
): FactorRequirement {
  const appliesTo = (role: Role): boolean => policy === 'required' || (policy === 'admins' && role !== 'user')
  return {
    appliesTo,

    dueAt({ second_factor_at, second_factor_due_at }, role) {
      if (second_factor_at !== null || !appliesTo(role)) return undefined
      return second_factor_due_at ?? clock.now() + graceDays * DAY_MS
    },

    beginSql(user, role) {
      if (user.second_factor_at !== null || user.second_factor_due_at !== null || !appliesTo(role)) return []
      const dueAt = clock.now() + graceDays * DAY_MS
      return [
        users.beginRequirementSql(user.id, dueAt),
        ...mails.notice(user.id, 'second-factor-due', { due: new Date(dueAt).toUTCString() }),
      ]
    },
  }
}
