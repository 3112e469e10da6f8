import type { Transaction } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { DataSubject } from '../../../kernel/wire/personal-data.ts'

/**
 * By what records know the person of an account; undefined if there is no such account. An address counts only once it is verified, and
 * one from before only as long as nobody else has it: else anybody could read and erase what others have at an address.
 *
 * @param until milliseconds since 1970: see `DataSubject`
 */
export async function personOf(
  db: Pick<Transaction, 'all'>,
  id: string,
  until: number,
): Promise<DataSubject | undefined> {
  const rows = await db.all(sql<{ kind: 'id' | 'email' | 'phone'; text: string }>`
    select 'id' as kind, id as text from auth_users where id = ${id}
    union all select 'email', email_key from auth_users where id = ${id} and email_verified_at is not null
    union all select 'email', old_email_key from auth_address_changes
      where user_id = ${id} and changed_at is not null and undone_at is null and old_verified_at is not null
        and not exists (select 1 from auth_users where email_key = old_email_key)
    union all select 'phone', phone from auth_phones where user_id = ${id}`)
  if (rows.length === 0) return undefined
  const of = (kind: string): string[] => [
    ...new Set(rows.filter((row) => row.kind === kind).map(({ text }) => text)),
  ]
  return { id, emails: of('email'), phones: of('phone'), until }
}
