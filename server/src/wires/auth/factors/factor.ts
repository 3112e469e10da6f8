import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Database, type Step, type StepWith } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'

/** How a second factor is met: by one of the account's, or by a device that was trusted before. */
export type SecondFactor = 'passkey' | 'totp' | 'recovery-code' | 'device'

/**
 * A proof of a second factor that is right.
 *
 * @template Kind what it is a proof of
 */
export type FactorProof<Kind extends SecondFactor = SecondFactor> = {
  kind: Kind
  /** Records its use, in the batch of what it permits: fails with INVALID_CODE or INVALID_PASSKEY if it was used meanwhile. */
  useSql: readonly Step[]
}

/** The second factors that an account has; a trusted device is none of the account's. */
export async function factorsOf(db: Database, userId: string): Promise<Exclude<SecondFactor, 'device'>[]> {
  const rows = await db.all(sql<{ kind: Exclude<SecondFactor, 'device'> }>`
    select 'passkey' as kind where exists (select 1 from auth_passkeys where user_id = ${userId})
    union all
    select 'totp' where exists (select 1 from auth_totp where user_id = ${userId})
    union all
    select 'recovery-code' where exists (
      select 1 from auth_recovery_codes where user_id = ${userId} and used_at is null)`)
  return rows.map(({ kind }) => kind)
}

/** A condition: the account has a passkey or an authenticator app. */
const hasFactorSql = (userId: string): Sql => sql`
  (exists (select 1 from auth_passkeys where user_id = ${userId})
    or exists (select 1 from auth_totp where user_id = ${userId}))`

/**
 * The step after the removal of a factor that fails if it was the account's last one. In `users.factorSql`, whose lock makes
 * removals at the same time wait for each other.
 */
export const requireOtherFactorSql = (userId: string, otherwise: () => ApiError): StepWith =>
  requireRow(
    sql`select 1 as found from auth_users where id = ${userId} and ${hasFactorSql(userId)}`,
    otherwise,
  )

/**
 * The steps after the removal of a factor: what stands in for factors goes with the last one, and what sessions have proven with
 * them, so that another one is asked for. In `users.factorSql`.
 */
export const endLastFactorSql = (userId: string): readonly Step[] => [
  sql`update auth_sessions set second_factor = null where user_id = ${userId} and not ${hasFactorSql(userId)}`,
  sql`delete from auth_recovery_codes where user_id = ${userId} and not ${hasFactorSql(userId)}`,
  sql`delete from auth_trusted_devices where user_id = ${userId} and not ${hasFactorSql(userId)}`,
]
