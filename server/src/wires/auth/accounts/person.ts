import type { Transaction } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { DataSubject } from '../../../kernel/wire/personal-data.ts'

/**
 * By what records know the person of an account; undefined if there is no such account.
 *
 * @param until milliseconds since 1970: see `DataSubject`
 */
export async function personOf(
  db: Pick<Transaction, 'all'>,
  id: string,
  until: number,
): Promise<DataSubject | undefined> {
  const rows = await db.all(sql<{ kind: 'email' | 'phone'; text: string }>`
    select 'email' as kind, email_key as text from auth_users where id = ${id}
    union all select 'email', old_email_key from auth_address_changes
      where user_id = ${id} and changed_at is not null and undone_at is null
    union all select 'phone', phone from auth_phones where user_id = ${id}`)
  if (rows.length === 0) return undefined
  const of = (kind: string): string[] => [
    ...new Set(rows.filter((row) => row.kind === kind).map(({ text }) => text)),
  ]
  return { id, emails: of('email'), phones: of('phone'), until }
}
