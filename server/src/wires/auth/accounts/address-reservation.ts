import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type StepWith } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'

/** Whether an address that another account had can still be taken back by it. */
export const reservedSql = (emailKey: string, userId: string, now: number): Sql => sql`
  exists (select 1 from auth_address_changes
    where old_email_key = ${emailKey} and undo_until > ${now} and undone_at is null and user_id <> ${userId})`

/** Fails the batch if the address is reserved for another account. */
export const notReservedSql = (
  emailKey: string,
  userId: string,
  now: number,
  otherwise: () => ApiError,
): StepWith<never> =>
  requireRow(sql<never>`select 1 as free where not ${reservedSql(emailKey, userId, now)}`, otherwise)
