import { sql, type Sql } from '../../../db/sql.ts'

/** Whether each row has the time at which it was added. */
const FACTOR_TABLES = {
  auth_passkeys: true,
  auth_totp: true,
  auth_totp_offers: false,
  auth_recovery_codes: false,
  auth_trusted_devices: true,
}

/**
 * Deletes second factors, recovery codes and trusted devices. The batch has to lock the account's row before.
 *
 * @param userId an expression: of no account if it is null
 * @param since milliseconds: delete only what was added since then, and what has no such time
 */
export const deleteFactorsSql = (userId: Sql, since?: number): Sql<never>[] =>
  Object.entries(FACTOR_TABLES).map(
    ([table, isDated]) => sql<never>`
      delete from ${sql.literal(table)} where user_id = ${userId}
      ${since === undefined || !isDated ? sql.literal('') : sql`and created_at >= ${since}`}`,
  )
