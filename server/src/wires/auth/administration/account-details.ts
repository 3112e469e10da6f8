import { isoTime } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'
import { sql } from '../../../db/sql.ts'
import {
  accountOf,
  requireAccount,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'

/** An account with what its owner signs in with. Times are ISO 8601. */
export type AccountDetails = Account & {
  metadata: Record<string, unknown>
  /** Whether its address accepts no password now. */
  locked: boolean
  hasPassword: boolean
  /** In E.164; null: it has none. */
  phone: string | null
  factors: { passkeys: number; totp: boolean; recoveryCodes: number }
  /** At identity providers. */
  identities: { issuer: string; subject: string; createdAt: string }[]
  /** How many have not expired. */
  sessions: number
  lastSignInAt: string | null
}

type Counts = { passkeys: number; totp: number; codes: number }
type Identity = { issuer: string; subject: string; created_at: number }

/** @throws NOT_FOUND */
export async function detailsOf(parts: AdministrationParts, account: AccountRef): Promise<AccountDetails> {
  const { db, lock, phones, sessions } = parts
  const user = await requireAccount(parts, account)
  const { id } = user
  const [counts, identities, phone, locked, sessionCount] = await Promise.all([
    db.get(sql<Counts>`
      select
        (select count(*) from auth_passkeys where user_id = ${id}) as passkeys,
        (select count(*) from auth_totp where user_id = ${id}) as totp,
        (select count(*) from auth_recovery_codes where user_id = ${id} and used_at is null) as codes`),
    db.all(sql<Identity>`
      select issuer, subject, created_at from auth_identities where user_id = ${id} order by created_at, id`),
    phones.of(id),
    lock.isLocked(user.email_key),
    sessions.count(id),
  ])
  return {
    ...accountOf(parts, user),
    metadata: parseJson(user.metadata) as Record<string, unknown>,
    locked,
    hasPassword: user.password_hash !== null,
    phone: phone ?? null,
    factors: { passkeys: counts!.passkeys, totp: counts!.totp > 0, recoveryCodes: counts!.codes },
    identities: identities.map(({ created_at, ...rest }) => ({ ...rest, createdAt: isoTime(created_at) })),
    sessions: sessionCount,
    lastSignInAt: user.last_sign_in_at === null ? null : isoTime(user.last_sign_in_at),
  }
}
