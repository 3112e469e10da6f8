import { isoTime } from '../../base/clock.ts'
import type { EmailAddress } from '../../base/email-address.ts'
import type { ApiError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { requireRow, type Step } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { WireContext } from '../../kernel/wire.ts'

export type Role = 'user' | 'admin'

/** A row of `auth_users`. */
export type UserRow = {
  id: string
  email: string
  email_key: string
  name: string | null
  metadata: string
  password_hash: string | null
  role: Role
  credentials_version: number
  email_verified_at: number | null
  disabled_at: number | null
  created_at: number
  updated_at: number
}

/** Selects an account. A statement finds no row if the account no longer matches when the statement runs. */
export type UserMatch = ({ id: string } | { emailKey: string }) & {
  /** `credentials_version` as it was read. */
  version?: number
  isUnverified?: true
  /** Match disabled accounts too. */
  includeDisabled?: true
}

/** What changes in an account; what is left out stays. */
export type UserChange = {
  /** Null removes the password. */
  passwordHash?: string | null
  /** Verifies the address, unless it is verified already. */
  isVerified?: true
  isDisabled?: boolean
  role?: Role
}

/**
 * The accounts. Only this file writes `auth_users`, so it alone decides which changes are changes of credentials:
 * those raise `credentials_version` and end sessions. A higher version also voids links in emails, sign-ins that are
 * in progress, stored answers of `POST /auth/register`, and identities whose address the provider has not verified.
 *
 * Builders return statements for a batch; `userAmong` picks the account out of the rows of a list:
 * `const [rows] = await db.batch([users.updateSql(…)])`, then `userAmong(rows)`.
 */
export type Users = {
  byId(id: string): Promise<UserRow | undefined>
  byEmail(key: string): Promise<UserRow | undefined>
  /** How many enabled accounts have an address that is not verified. */
  countUnverified(): Promise<number>
  /** Whether `SIXWIRE_ADMINS` makes the account of this address an administrator once it is verified. */
  isNamedAdmin(user: Pick<UserRow, 'email_key'>): boolean
  /** The effective role, with `SIXWIRE_ADMINS` included. */
  roleOf(user: Pick<UserRow, 'role' | 'email_key' | 'email_verified_at'>): Role

  /**
   * Creates an account.
   *
   * @param otherwise the error if the address or id has an account already; if absent, nothing happens then
   */
  insertSql(
    account: {
      id: string
      email: EmailAddress
      name: string | null
      passwordHash: string | null
      isVerified: boolean
    },
    otherwise?: () => ApiError,
  ): readonly Step<UserRow>[]
  /**
   * Changes an account. A change of the password or disabling the account is a change of credentials.
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
   * may be a stranger's: it is removed, and that is a change of credentials.
   */
  verifySql(match: UserMatch, otherwise: () => ApiError): readonly Step<UserRow>[]
  updateProfileSql(
    match: UserMatch,
    profile: { name: string | null; metadata: string },
    otherwise: () => ApiError,
  ): readonly Step<UserRow>[]
  /** Stores a new hash of the same password: not a change of credentials. */
  renewHashSql(user: UserRow, passwordHash: string): Sql
  /** Deletes an account with its sessions and identities, and voids the links that were sent to it. */
  deleteSql(match: UserMatch, otherwise: () => ApiError): readonly Step[]
}

/** The account among the rows of `insertSql`, `updateSql` or `verifySql`: the other statements answer rows without columns. */
export const userAmong = (rows: readonly UserRow[][]): UserRow => rows.flat().find((row) => 'id' in row)!

/**
 * @param options.admins address keys of administrators, once verified
 * @param options.firstIsAdmin whether the first account of the server becomes an administrator
 */
export function createUsers(
  { db, clock, events }: Pick<WireContext, 'db' | 'clock' | 'events'>,
  options: { admins: ReadonlySet<string>; firstIsAdmin: boolean },
): Users {
  const { admins, firstIsAdmin } = options
  const roleOf: Users['roleOf'] = ({ role, email_key, email_verified_at }) =>
    role === 'admin' || (email_verified_at !== null && admins.has(email_key)) ? 'admin' : 'user'
  const changes = events.define('auth.user', {
    verbs: ['created', 'updated', 'deleted'],
    table: sql.literal('auth_users'),
    columns: EVENT_COLUMNS,
    data: (user: EventRow) => publicUserOf(user, roleOf(user)),
  })

  return {
    byId: (id) => db.get<UserRow>(sql`select * from auth_users where id = ${id}`),
    byEmail: (key) => db.get<UserRow>(sql`select * from auth_users where email_key = ${key}`),

    async countUnverified() {
      const count = await db.get<{ total: number }>(sql`
        select count(*) as total from auth_users where email_verified_at is null and disabled_at is null`)
      return count!.total
    },

    isNamedAdmin: ({ email_key }) => admins.has(email_key),
    roleOf,

    insertSql({ id, email, name, passwordHash, isVerified }, otherwise) {
      const now = clock.now()
      const insertSql = sql<UserRow>`
        insert into auth_users (id, email, email_key, name, metadata, password_hash, role, credentials_version, email_verified_at, created_at, updated_at)
        values (${id}, ${email.address}, ${email.key}, ${name}, '{}', ${passwordHash},
          case when exists (select 1 from auth_first_account where user_id = ${id}) then 'admin' else 'user' end,
          1, ${isVerified ? now : null}, ${now}, ${now})
        on conflict do nothing
        returning *`
      // Of two concurrent first accounts, the later one waits here for the row and then finds it taken.
      const claimSql = sql<never>`
        insert into auth_first_account (id, user_id)
        select 1, ${id} where not exists (select 1 from auth_users)
        on conflict (id) do nothing`
      return [
        ...(firstIsAdmin ? [claimSql] : []),
        otherwise ? requireRow(insertSql, otherwise) : insertSql,
        ...published(changes.publishSql('created', sql`id = ${id}`, { once: sql`'created:' || id` })),
      ]
    },

    updateSql(match, { passwordHash, isVerified, isDisabled, role }, otherwise, { keepSessionId } = {}) {
      const now = clock.now()
      const changesCredentials = passwordHash !== undefined || isDisabled === true
      const columns = [sql`updated_at = ${now}`]
      if (passwordHash !== undefined) columns.push(sql`password_hash = ${passwordHash}`)
      if (isVerified) columns.push(sql`email_verified_at = coalesce(email_verified_at, ${now})`)
      if (isDisabled === true) columns.push(sql`disabled_at = coalesce(disabled_at, ${now})`)
      if (isDisabled === false) columns.push(sql`disabled_at = null`)
      if (role !== undefined) columns.push(sql`role = ${role}`)
      if (changesCredentials) columns.push(sql`credentials_version = credentials_version + 1`)
      return [
        requireRow(
          sql<UserRow>`update auth_users set ${sql.join(columns)} where ${matchSql(match)} returning *`,
          otherwise,
        ),
        ...(changesCredentials ? [endSessionsSql(accountSql(match), keepSessionId)] : []),
        ...published(changes.publishSql('updated', accountSql(match))),
      ]
    },

    verifySql(match, otherwise) {
      const now = clock.now()
      const account = matchSql(match)
      return [
        // On PostgreSQL this locks the row before the next statement reads whether the address is verified.
        requireRow(sql<never>`update auth_users set updated_at = ${now} where ${account}`, otherwise),
        endSessionsSql(sql`${account} and email_verified_at is null`),
        sql<UserRow>`
          update auth_users set
            password_hash = case when email_verified_at is null then null else password_hash end,
            credentials_version = credentials_version + case when email_verified_at is null then 1 else 0 end,
            email_verified_at = coalesce(email_verified_at, ${now})
          where ${account} returning *`,
        ...published(changes.publishSql('updated', accountSql(match))),
      ]
    },

    updateProfileSql: (match, { name, metadata }, otherwise) => [
      requireRow(
        sql<UserRow>`
          update auth_users set name = ${name}, metadata = ${metadata}, updated_at = ${clock.now()}
          where ${matchSql(match)} returning *`,
        otherwise,
      ),
      ...published(changes.publishSql('updated', accountSql(match))),
    ],

    renewHashSql: (user, passwordHash) => sql`
      update auth_users set password_hash = ${passwordHash}
      where id = ${user.id} and password_hash = ${user.password_hash}`,

    deleteSql: (match, otherwise) => [
      // While there is a row. If the account does not match any more, all of it is rolled back.
      ...changes.publishSql('deleted', matchSql(match)),
      requireRow(sql`delete from auth_users where ${matchSql(match)}`, otherwise),
    ],
  }
}

const EVENT_COLUMNS = [
  'id',
  'email',
  'email_key',
  'name',
  'metadata',
  'role',
  'email_verified_at',
  'disabled_at',
  'created_at',
] as const
type EventRow = Pick<UserRow, (typeof EVENT_COLUMNS)[number]>

/** An account as events have it: no hash of a password, and nothing that opens the account. */
const publicUserOf = (user: EventRow, role: Role) => ({
  _id: user.id,
  email: user.email,
  ...(user.name !== null && { name: user.name }),
  metadata: parseJson(user.metadata) as Record<string, unknown>,
  role,
  emailVerified: user.email_verified_at !== null,
  disabled: user.disabled_at !== null,
  createdAt: isoTime(user.created_at),
})

/** Steps that answer no rows, among those that answer the account. */
const published = (steps: readonly Step[]): readonly Step<never>[] => steps as readonly Step<never>[]

const accountSql = (match: UserMatch): Sql =>
  'id' in match ? sql`id = ${match.id}` : sql`email_key = ${match.emailKey}`

function matchSql(match: UserMatch): Sql {
  const conditions = [accountSql(match)]
  if (match.version !== undefined) conditions.push(sql`credentials_version = ${match.version}`)
  if (match.isUnverified) conditions.push(sql`email_verified_at is null`)
  if (!match.includeDisabled) conditions.push(sql`disabled_at is null`)
  return sql.join(conditions, ' and ')
}

/** The account's row has to be locked before: a session that is being created waits for it, or is seen here. */
const endSessionsSql = (account: Sql, keepSessionId = ''): Sql<never> => sql<never>`
  delete from auth_sessions where user_id = (select id from auth_users where ${account}) and id <> ${keepSessionId}`
