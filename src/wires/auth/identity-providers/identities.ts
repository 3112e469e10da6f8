import type { Clock } from '../../../base/clock.ts'
import { parseAddress, type EmailAddress } from '../../../base/email-address.ts'
import { ApiError, errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { authErrors } from '../errors.ts'
import type { ProvenIdentity } from './provider.ts'
import type { UserRow, Users } from '../users.ts'

/** Which account an identity at a provider opens. */
export type Identities = {
  /**
   * The account of an identity. One that is not known yet is joined to the account of its address where both the
   * provider and we know that address to be verified, and else makes an account.
   *
   * @param notice the statements after which the account's address is told of its first sign-in with this identity
   * @throws ACCOUNT_EXISTS, ACCOUNT_DISABLED, EMAIL_REQUIRED, REGISTRATION_CLOSED
   */
  open(
    identity: ProvenIdentity,
    notice: (userId: string, isVerified: boolean) => readonly Sql[],
  ): Promise<UserRow>
}

type Found = {
  /** The row that was found; an identity that opens nothing any more may be taken away. */
  identity: { id: string; user_id: string; credentials_version: number | null } | undefined
  user: UserRow | undefined
}

const NAME_MAX = 200
const ATTEMPTS = 4

/**
 * Joins identities and accounts. What is read first only chooses the batch; the batch holds what it depends on, and
 * where something came between, all is read again.
 *
 * An identity without a verified address opens the account that it made only until somebody else proves the address:
 * otherwise whoever claims another person's address could wait in that person's account.
 */
export function createIdentities(
  db: Database,
  clock: Clock,
  { users, registration }: { users: Users; registration: 'open' | 'closed' },
): Identities {
  async function find(identity: ProvenIdentity): Promise<Found> {
    const found = await db.get<NonNullable<Found['identity']>>(sql`
      select id, user_id, credentials_version from auth_identities
      where issuer = ${identity.issuer} and subject = ${identity.subject}`)
    return { identity: found, user: found && (await users.byId(found.user_id)) }
  }

  /** Joins an identity to an account. Whoever disables that account waits, or was first and is seen. */
  const insertion = (
    { issuer, subject }: ProvenIdentity,
    { userId, version, where }: { userId: string; version: number | null; where: Sql },
  ): Sql => sql`
    insert into auth_identities (id, issuer, subject, user_id, credentials_version, created_at)
    select ${newId(clock.now())}, ${issuer}, ${subject}, id, cast(${version} as bigint), ${clock.now()}
    from auth_users where id = ${userId} and ${where} ${sql.sharedLock}
    on conflict do nothing
    returning id`

  /** The address was shown to be this person's: what others may have set up before goes. */
  async function verify(user: UserRow, identityId: string, changed: ApiError): Promise<UserRow> {
    const now = clock.now()
    const [updated] = await db.batch([
      requireRow(
        sql`update auth_users set
              email_verified_at = ${now}, password_hash = null, credentials_version = credentials_version + 1,
              updated_at = ${now}
            where id = ${user.id} and credentials_version = ${user.credentials_version}
              and email_verified_at is null and disabled_at is null
            returning *`,
        () => changed,
      ),
      sql`delete from auth_sessions where user_id = ${user.id}`,
      sql`delete from auth_identities where user_id = ${user.id} and id <> ${identityId}`,
      requireRow(
        sql`update auth_identities set credentials_version = null where id = ${identityId} returning id`,
        () => changed,
      ),
    ])
    return updated[0] as UserRow
  }

  async function decide(
    identity: ProvenIdentity,
    notice: (userId: string, isVerified: boolean) => readonly Sql[],
    changed: ApiError,
  ): Promise<UserRow> {
    const address = addressOf(identity)
    const isVerified = address !== undefined && identity.emailVerified
    const { identity: known, user } = await find(identity)
    if (known && user) {
      const version = known.credentials_version
      if (version === null || user.email_verified_at === null || version === user.credentials_version) {
        if (user.disabled_at !== null) throw authErrors.account_disabled()
        const shows = isVerified && user.email_verified_at === null && user.email_key === address.key
        return shows ? verify(user, known.id, changed) : user
      }
    }
    // A row that is here still opens nothing any more; it makes room for what is decided now.
    const removal: readonly Step[] = known
      ? [sql`delete from auth_identities where id = ${known.id} and credentials_version is not null`]
      : []
    if (!address) throw authErrors.email_required()

    // Before anything is looked up: whether there is an account is no business of whoever only claims the address.
    if (registration === 'closed' && !isVerified) throw authErrors.registration_closed()

    const holder = await users.byEmail(address.key)
    if (holder) {
      if (!isVerified || holder.email_verified_at === null) {
        // Another callback of the same person may have made the account a moment ago.
        if (!known && (await find(identity)).identity) throw changed
        throw authErrors.account_exists()
      }
      if (holder.disabled_at !== null) throw authErrors.account_disabled()
      const where = sql`email_key = ${address.key} and email_verified_at is not null and disabled_at is null
        and credentials_version = ${holder.credentials_version}`
      const joining = insertion(identity, { userId: holder.id, version: null, where })
      await db.batch([...removal, requireRow(joining, () => changed), ...notice(holder.id, true)])
      return holder
    }

    if (registration === 'closed') throw authErrors.registration_closed()
    const id = newId(clock.now())
    const name = nameOf(identity)
    const { claims, account } = users.insertions({ id, email: address, name, passwordHash: null, isVerified })
    const rows = await db.batch([
      ...removal,
      ...claims,
      requireRow(account, () => changed),
      requireRow(
        insertion(identity, { userId: id, version: isVerified ? null : 1, where: sql`disabled_at is null` }),
        () => changed,
      ),
      ...notice(id, isVerified),
    ])
    return rows[removal.length + claims.length]![0] as UserRow
  }

  return {
    async open(identity, notice) {
      for (let attempt = 1; ; attempt++) {
        const changed = errors.unavailable({ retryAfter: 1 })
        try {
          return await decide(identity, notice, changed)
        } catch (error) {
          if (error !== changed || attempt === ATTEMPTS) throw error
        }
      }
    },
  }
}

/** The provider's address where an account could have it: what can't be one is no address. */
function addressOf({ email }: ProvenIdentity): EmailAddress | undefined {
  if (email === undefined) return undefined
  try {
    return parseAddress(email, '')
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/** The provider's name for the person, as far as it can be kept. */
function nameOf({ name = '' }: ProvenIdentity): string | null {
  // Cut off first: the cut may leave half of a surrogate pair.
  const kept = name
    .trim()
    .slice(0, NAME_MAX)
    .replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
  return kept.trim() || null
}
