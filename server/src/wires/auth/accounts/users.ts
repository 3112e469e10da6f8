import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { Step } from '../../../db/database.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { reservedSql } from './address-reservation.ts'
import * as statements from './user-changes.ts'
import { defineUserEvents, type EventRow } from './user-events.ts'
import type { ForeignUser, NewUser, Role, UserChange, UserMatch, UserRow } from './user.ts'

/**
 * The accounts. Only user-changes.ts writes `auth_users`, so it alone decides which changes are changes of credentials:
 * those raise `credentials_version` and end sessions. A higher version also voids links in emails, sign-ins that are
 * in progress, stored answers of `POST /auth/register`, and identities whose address the provider has not verified.
 *
 * Builders return statements for a batch; `userAmong` picks the account out of the rows of a list:
 * `const [rows] = await db.batch([users.updateSql(…)])`, then `userAmong(rows)`.
 */
export type Users = {
  byId(id: string): Promise<UserRow | undefined>
  byEmail(key: string): Promise<UserRow | undefined>
  /** The account that has proven this phone number. */
  byPhone(phone: string): Promise<UserRow | undefined>
  /**
   * The hash of a password of some account, always that of the same one for the same text. Imported hashes take other times than
   * ours: compared with it, an address without an account takes the time of an account.
   */
  someHash(text: string): Promise<string | null>
  /** How many accounts there are. */
  count(): Promise<number>
  /** How many enabled accounts have an address that is not verified. */
  countUnverified(): Promise<number>
  /** Whether the address was another account's until a moment ago, which can take it back: no account gets it until then. */
  isReserved(emailKey: string, userId?: string): Promise<boolean>
  /** How many enabled administrators have no second factor; 1,000 at most. */
  countAdminsWithoutFactor(): Promise<number>
  /** The condition that an enabled account is an administrator. */
  isAdminSql(): Sql
  /** Selects the ids of accounts that may have a role, by indexes: of administrators, also by `SIXWIRE_ADMINS`, and of viewers. */
  withRoleSql(): Sql
  /** The condition that there is an administrator without this account, or that it is none. */
  leavesAdminSql(id: string): Sql
  /** Whether `SIXWIRE_ADMINS` makes the account of this address an administrator once it is verified. */
  isNamedAdmin(user: Pick<UserRow, 'email_key'>): boolean
  /** The effective role, with `SIXWIRE_ADMINS` included. */
  roleOf(user: Pick<UserRow, 'role' | 'is_viewer' | 'email_key' | 'email_verified_at'>): Role
  /** The same of a row. */
  roleSql(): Sql

  /**
   * Creates an account.
   *
   * @param otherwise the error if the address is reserved, or the address or id has an account already; if absent, nothing
   *   happens then
   */
  insertSql(account: NewUser, otherwise?: () => ApiError): readonly Step<UserRow>[]
  /**
   * Creates an account as another system had it. It is never the first administrator, and no event is published.
   *
   * @param otherwise the error if the address is reserved, or the address or id has an account already
   */
  importSql(account: ForeignUser, otherwise: () => ApiError): readonly Step[]
  /**
   * Changes an account. A change of the password or disabling the account is a change of credentials. If both the address is
   * verified and the password changed, an account that was unverified loses its second factors and phone number: they may be
   * a stranger's, as the old password.
   *
   * @param options.keepSessionId the only session that stays
   */
  updateSql(
    match: UserMatch,
    change: UserChange,
    otherwise: () => ApiError,
    options?: { keepSessionId?: string },
  ): readonly Step<UserRow>[]
  /**
   * Verifies the address after its owner has shown access to the mailbox. If it was not verified before, the password
   * may be a stranger's: it is removed with the second factors and the phone number, and that is a change of credentials.
   */
  verifySql(match: UserMatch, otherwise: () => ApiError): readonly Step<UserRow>[]
  /**
   * Gives the account another address. This is a change of credentials, since links went to the former address, but sessions
   * stay. If another account has the address, the batch fails with a `ConstraintError`.
   *
   * @param address.isVerified whether its owner has shown access to it
   * @param isReserved the error if the address is reserved for another account
   */
  changeAddressSql(
    match: UserMatch & { id: string },
    address: { email: EmailAddress; isVerified: boolean },
    otherwise: () => ApiError,
    isReserved: () => ApiError,
  ): readonly Step<UserRow>[]
  /**
   * Gives the account a former address again, ends all sessions, and removes the password and the second factors and phone number
   * that were added since a time; recovery codes and offers of authenticator apps have no time and are removed too.
   */
  restoreAddressSql(
    match: UserMatch & { id: string },
    former: { email: EmailAddress; verifiedAt: number; since: number },
    otherwise: () => ApiError,
  ): readonly Step<UserRow>[]
  updateProfileSql(
    match: UserMatch,
    profile: { name: string | null; metadata: string },
    otherwise: () => ApiError,
  ): readonly Step<UserRow>[]
  /** Stores a new hash of the same password: not a change of credentials. */
  renewHashSql(user: UserRow, passwordHash: string): Sql
  /**
   * The steps that add or remove a second factor: `change` between the lock of the account's row, at which sessions that are
   * being created wait, and the statement that records whether the account has a factor now.
   */
  factorSql(match: UserMatch, change: readonly Step[], otherwise: () => ApiError): readonly Step[]
  /** Records a sign-in. */
  lastSignInSql(id: string, now: number): Sql
  /** Records from when the policy accepts no sign-in to the account without a second factor, unless it is recorded already. */
  beginRequirementSql(id: string, dueAt: number): Sql
  /** Removes all second factors, recovery codes and trusted devices. */
  removeFactorsSql(match: UserMatch, otherwise: () => ApiError): readonly Step[]
  /** Deletes an account with its sessions and identities, and voids the links that were sent to it. */
  deleteSql(match: UserMatch, otherwise: () => ApiError): readonly Step[]
}

/**
 * @param options.admins address keys of administrators, once verified
 * @param options.firstIsAdmin whether the first account of the server becomes an administrator
 */
export function createUsers(
  { db, clock, events }: Pick<WireContext, 'db' | 'clock' | 'events'>,
  options: { admins: ReadonlySet<string>; firstIsAdmin: boolean },
): Users {
  const { admins, firstIsAdmin } = options
  const roleOf: Users['roleOf'] = ({ role, is_viewer, email_key, email_verified_at }) => {
    if (role === 'admin' || (email_verified_at !== null && admins.has(email_key))) return 'admin'
    return is_viewer === 1 ? 'viewer' : 'user'
  }
  const parts = { clock, events: defineUserEvents(events, roleOf), firstIsAdmin }

  return {
    byId: (id) => db.get<UserRow>(sql`select * from auth_users where id = ${id}`),
    byEmail: (key) => db.get<UserRow>(sql`select * from auth_users where email_key = ${key}`),
    byPhone: (phone) =>
      db.get<UserRow>(sql`
      select u.* from auth_users u join auth_phones p on p.user_id = u.id where p.phone = ${phone}`),

    async someHash(text) {
      // Addresses begin with a letter; a hash in base64 would stand before or behind all of them.
      const place = Array.from(
        Buffer.from(text).subarray(0, 4),
        (byte) => LETTERS[byte % LETTERS.length],
      ).join('')
      const row = await db.get<{ password_hash: string | null }>(sql`
        select password_hash from auth_users where email_key >= ${place} order by email_key limit 1`)
      return row?.password_hash ?? null
    },

    async count() {
      const [row] = await db.scan<{ total: number }>(sql`select count(*) as total from auth_users`)
      return row!.total
    },

    async countUnverified() {
      const count = await db.get<{ total: number }>(sql`
        select count(*) as total from auth_users where email_verified_at is null and disabled_at is null`)
      return count!.total
    },

    async isReserved(emailKey, userId = '') {
      return (
        (await db.get(sql`select 1 as found where ${reservedSql(emailKey, userId, clock.now())}`)) !==
        undefined
      )
    },

    async countAdminsWithoutFactor() {
      const named = [...admins]
      const rows = await db.all<EventRow>(sql`
        select * from auth_users
        where disabled_at is null and second_factor_at is null
          and (role = 'admin' or ${isOneOf('email_key', named)})
        limit ${COUNTED_MAX}`)
      return rows.filter((user) => roleOf(user) === 'admin').length
    },

    isAdminSql: () => adminSql(admins),
    withRoleSql: () => sql`
      select id from auth_users where role = 'admin' or is_viewer = 1
      union all select id from auth_users where ${isOneOf('email_key', [...admins])}`,
    leavesAdminSql: (id) => sql`(
      exists (select 1 from auth_users where id <> ${id} and ${adminSql(admins)})
      or not exists (select 1 from auth_users where id = ${id} and ${adminSql(admins)}))`,
    isNamedAdmin: ({ email_key }) => admins.has(email_key),
    roleOf,
    roleSql: () =>
      sql`case when ${hasRoleSql(admins)} then 'admin' when is_viewer = 1 then 'viewer' else 'user' end`,

    insertSql: (...args) => statements.insertSql(parts, ...args),
    importSql: (...args) => statements.importSql(parts, ...args),
    updateSql: (...args) => statements.updateSql(parts, ...args),
    verifySql: (...args) => statements.verifySql(parts, ...args),
    changeAddressSql: (...args) => statements.changeAddressSql(parts, ...args),
    restoreAddressSql: (...args) => statements.restoreAddressSql(parts, ...args),
    updateProfileSql: (...args) => statements.updateProfileSql(parts, ...args),
    renewHashSql: statements.renewHashSql,
    factorSql: (...args) => statements.factorSql(parts, ...args),
    lastSignInSql: statements.lastSignInSql,
    beginRequirementSql: statements.beginRequirementSql,
    removeFactorsSql: (...args) => statements.removeFactorsSql(parts, ...args),
    deleteSql: (...args) => statements.deleteSql(parts, ...args),
  }
}

const COUNTED_MAX = 1_000
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

const adminSql = (named: ReadonlySet<string>): Sql => sql`(disabled_at is null and ${hasRoleSql(named)})`

/** Whether an account is an administrator's, also while it is disabled. */
const hasRoleSql = (named: ReadonlySet<string>): Sql =>
  sql`(role = 'admin' or (email_verified_at is not null and ${isOneOf('email_key', [...named])}))`
