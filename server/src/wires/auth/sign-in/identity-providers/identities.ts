import { parseAddress, type EmailAddress } from '../../../../base/email-address.ts'
import { ApiError, errors } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { requireRow, type Step } from '../../../../db/database.ts'
import { sql, type Sql } from '../../../../db/sql.ts'
import type { AccountMails } from '../../messages/account-mails.ts'
import { authErrors } from '../../errors.ts'
import type { KnownDevices } from '../../sessions/known-devices.ts'
import { userAmong, type UserRow } from '../../accounts/user.ts'
import type { Users } from '../../accounts/users.ts'
import type { ProvenIdentity } from './identity-provider.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

/** The sign-in with an identity of which the owner of its account is told, if it is the first. */
export type IdentitySignIn = { readonly provider: string; readonly ip: string; readonly userAgent: string }

/** Which account each identity at a provider belongs to. */
export type Identities = {
  /**
   * The account of an identity. A new identity is linked to the account of its address if both the provider and this
   * server have verified that address; otherwise it creates an account. A new link is mailed to the account's address:
   * a notice of the sign-in, or a link to verify an address that the provider has not verified.
   *
   * @throws ACCOUNT_EXISTS, ACCOUNT_DISABLED, EMAIL_REQUIRED, REGISTRATION_CLOSED
   */
  findOrCreateUser(identity: ProvenIdentity, signIn: IdentitySignIn): Promise<UserRow>
}

type Row = { id: string; user_id: string; credentials_version: number | null }

const NAME_MAX = 200
const ATTEMPTS = 4

/**
 * Links identities to accounts. What is read first only chooses the batch; the batch checks what it depends on, and if
 * that has changed meanwhile, everything is read again.
 *
 * An identity without a verified address has access to the account that it created only until the
 * address is verified: otherwise a person who claims a stranger's address could wait in the stranger's account.
 */
export function createIdentities(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  {
    users,
    mails,
    knownDevices,
    registration,
  }: { users: Users; mails: AccountMails; knownDevices: KnownDevices; registration: 'open' | 'closed' },
): Identities {
  async function find({ issuer, subject }: ProvenIdentity): Promise<{ row?: Row; user?: UserRow }> {
    const row = await db.get(sql<Row>`
      select id, user_id, credentials_version from auth_identities
      where issuer = ${issuer} and subject = ${subject}`)
    if (!row) return {}
    const user = await users.byId(row.user_id)
    return { row, ...(user && { user }) }
  }

  /** Links an identity to an account. The lock makes a concurrent change of the account wait, or is made to wait. */
  const insertSql = (
    { issuer, subject }: ProvenIdentity,
    { userId, version, where }: { userId: string; version: number | null; where: Sql },
  ): Sql => sql`
    insert into auth_identities (id, issuer, subject, user_id, credentials_version, created_at)
    select ${newId(clock.now())}, ${issuer}, ${subject}, id, cast(${version} as bigint), ${clock.now()}
    from auth_users where id = ${userId} and ${where} and disabled_at is null ${sql.sharedLock}
    on conflict do nothing
    returning id`

  /** The provider has verified the address for this person, so whatever others may have set up in the account goes. */
  async function verify(user: UserRow, identityId: string, otherwise: () => ApiError): Promise<UserRow> {
    const match = { id: user.id, version: user.credentials_version, isUnverified: true } as const
    const [rows] = await db.batch([
      users.updateSql(match, { passwordHash: null, isVerified: true }, otherwise),
      sql`delete from auth_identities where user_id = ${user.id} and id <> ${identityId}`,
      requireRow(
        sql`update auth_identities set credentials_version = null where id = ${identityId}`,
        otherwise,
      ),
    ])
    return userAmong(rows)
  }

  /** Tells the owner of a first sign-in with a provider; if its device is new, that needs no email of its own. */
  const noticeSql = (userId: string, { provider, ip, userAgent }: IdentitySignIn): readonly Step[] => [
    knownDevices.addSql(userId, userAgent),
    ...mails.notice(userId, 'new-sign-in', { provider, ip }),
  ]

  async function tryOnce(
    identity: ProvenIdentity,
    signIn: IdentitySignIn,
    changed: ApiError,
  ): Promise<UserRow> {
    const otherwise = () => changed
    const address = addressOf(identity)
    const isVerified = address !== undefined && identity.emailVerified
    const { row, user } = await find(identity)
    if (row && user) {
      const version = row.credentials_version
      if (version === null || user.email_verified_at === null || version === user.credentials_version) {
        if (user.disabled_at !== null) throw authErrors.account_disabled()
        const verifiesAddress =
          isVerified && user.email_verified_at === null && user.email_key === address.key
        return verifiesAddress ? verify(user, row.id, otherwise) : user
      }
    }
    // A row that still exists here has lost its access; the new link replaces it.
    const deleteSql: readonly Step[] = row
      ? [sql`delete from auth_identities where id = ${row.id} and credentials_version is not null`]
      : []
    if (!address) throw authErrors.email_required()

    // Before any account is read: a person who only claims the address must not learn whether it has one.
    if (registration === 'closed' && !isVerified) throw authErrors.registration_closed()

    const existing = await users.byEmail(address.key)
    if (existing) {
      if (!isVerified || existing.email_verified_at === null) {
        // A concurrent callback of the same person may have created the account.
        if (!row && (await find(identity)).row) throw changed
        throw authErrors.account_exists()
      }
      if (existing.disabled_at !== null) throw authErrors.account_disabled()
      const where = sql`email_key = ${address.key} and email_verified_at is not null
        and credentials_version = ${existing.credentials_version}`
      await db.batch([
        deleteSql,
        requireRow(insertSql(identity, { userId: existing.id, version: null, where }), otherwise),
        noticeSql(existing.id, signIn),
      ])
      return existing
    }

    if (registration === 'closed') throw authErrors.registration_closed()
    if (await users.isReserved(address.key)) throw authErrors.email_taken()
    const id = newId(clock.now())
    const account = { id, email: address, name: nameOf(identity), passwordHash: null, isVerified }
    const version = isVerified ? null : 1
    const [, rows] = await db.batch([
      deleteSql,
      users.insertSql(account, otherwise),
      requireRow(
        insertSql(identity, { userId: id, version, where: sql`email_key = ${address.key}` }),
        otherwise,
      ),
      isVerified ? noticeSql(id, signIn) : mails.verification(id),
    ])
    return userAmong(rows)
  }

  return {
    async findOrCreateUser(identity, signIn) {
      for (let attempt = 1; ; attempt++) {
        const conflict = errors.unavailable({ retryAfter: 1 })
        try {
          return await tryOnce(identity, signIn, conflict)
        } catch (error) {
          if (error !== conflict || attempt === ATTEMPTS) throw error
        }
      }
    },
  }
}

/** The provider's address; undefined if no account could have it. */
function addressOf({ email }: ProvenIdentity): EmailAddress | undefined {
  if (email === undefined) return undefined
  try {
    return parseAddress(email, '')
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/** The provider's name for the person, cleaned and cut to what can be stored. */
function nameOf({ name = '' }: ProvenIdentity): string | null {
  // Cut first: the cut may leave half of a surrogate pair.
  const shortName = name
    .trim()
    .slice(0, NAME_MAX)
    .replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
  return shortName.trim() || null
}
