// The statements that write `auth_users`, and nothing else does: see `Users`.
import type { EmailAddress } from '../../../base/email-address.ts'
import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Step } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { notReservedSql, reservedSql } from './address-reservation.ts'
import { deleteFactorsSql } from './factor-tables.ts'
import type { UserEvents } from './user-events.ts'
import {
  accountSql,
  matchSql,
  searchKey,
  type ForeignUser,
  type NewUser,
  type UserChange,
  type UserMatch,
  type UserRow,
} from './user.ts'

type Parts = Pick<WireContext, 'clock'> & { events: UserEvents; firstIsAdmin: boolean }

export function insertSql(
  { clock, events, firstIsAdmin }: Parts,
  { id, email, name, passwordHash, isVerified }: NewUser,
  otherwise?: () => ApiError,
): readonly Step<UserRow>[] {
  const now = clock.now()
  const userSql = sql<UserRow>`
    insert into auth_users (id, email, email_key, name, name_key, metadata, password_hash, role, credentials_version, email_verified_at, created_at, updated_at)
    values (${id}, ${email.address}, ${email.key}, ${name}, ${keyOf(name)}, '{}', ${passwordHash},
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
    otherwise ? requireRow(userSql, otherwise) : userSql,
    // After the insertion, which waits for a change that frees the address at the same time.
    otherwise
      ? notReservedSql(email.key, id, now, otherwise)
      : sql<never>`delete from auth_users where id = ${id} and ${reservedSql(email.key, id, now)}`,
    ...withoutRows(events.publishSql('created', sql`id = ${id}`, { once: sql`'created:' || id` })),
  ]
}

export function importSql({ clock }: Parts, user: ForeignUser, otherwise: () => ApiError): readonly Step[] {
  const now = clock.now()
  const { id, email, name, role } = user
  return [
    requireRow(
      sql`
        insert into auth_users (id, email, email_key, name, name_key, metadata, password_hash, role, is_viewer,
          credentials_version, email_verified_at, disabled_at, second_factor_at, created_at, updated_at)
        values (${id}, ${email.address}, ${email.key}, ${name}, ${keyOf(name)}, ${user.metadata}, ${user.passwordHash},
          ${role === 'admin' ? 'admin' : 'user'}, ${role === 'viewer' ? 1 : 0}, 1, ${user.isVerified ? now : null},
          ${user.isDisabled ? now : null}, ${user.hasFactor ? now : null}, ${user.createdAt}, ${now})
        on conflict do nothing`,
      otherwise,
    ),
    notReservedSql(email.key, id, now, otherwise),
  ]
}

export function updateSql(
  { clock, events }: Parts,
  match: UserMatch,
  { passwordHash, isVerified, isDisabled, role, endsSessions, spelling }: UserChange,
  otherwise: () => ApiError,
  { keepSessionId }: { keepSessionId?: string } = {},
): readonly Step<UserRow>[] {
  const now = clock.now()
  const changesCredentials = passwordHash !== undefined || isDisabled === true || endsSessions === true
  const columns = [sql`updated_at = ${now}`]
  if (passwordHash !== undefined) columns.push(sql`password_hash = ${passwordHash}`)
  if (isVerified) columns.push(sql`email_verified_at = coalesce(email_verified_at, ${now})`)
  if (spelling !== undefined) columns.push(sql`email = ${spelling}`)
  if (isDisabled === true) columns.push(sql`disabled_at = coalesce(disabled_at, ${now})`)
  if (isDisabled === false) columns.push(sql`disabled_at = null`)
  if (role !== undefined)
    columns.push(
      sql`role = ${role === 'admin' ? 'admin' : 'user'}`,
      sql`is_viewer = ${role === 'viewer' ? 1 : 0}`,
    )
  if (changesCredentials) columns.push(sql`credentials_version = credentials_version + 1`)
  const isClearing = isVerified && passwordHash !== undefined
  if (isClearing) columns.push(keepFactorIfVerified)
  return [
    ...(isClearing ? clearFactorsSql(match, otherwise, now) : []),
    requireRow(
      sql<UserRow>`update auth_users set ${sql.join(columns)} where ${matchSql(match)} returning *`,
      otherwise,
    ),
    ...(changesCredentials ? [endSessionsSql(accountSql(match), keepSessionId)] : []),
    ...(changesCredentials || role !== undefined || isVerified
      ? endImpersonationsSql(accountSql(match))
      : []),
    ...withoutRows(events.publishSql('updated', accountSql(match))),
  ]
}

export function verifySql(
  { clock, events }: Parts,
  match: UserMatch,
  otherwise: () => ApiError,
): readonly Step<UserRow>[] {
  const now = clock.now()
  const account = matchSql(match)
  return [
    ...clearFactorsSql(match, otherwise, now),
    endSessionsSql(sql`${account} and email_verified_at is null`),
    sql<UserRow>`
      update auth_users set
        password_hash = case when email_verified_at is null then null else password_hash end,
        ${keepFactorIfVerified},
        credentials_version = credentials_version + case when email_verified_at is null then 1 else 0 end,
        email_verified_at = coalesce(email_verified_at, ${now})
      where ${account} returning *`,
    ...withoutRows(events.publishSql('updated', accountSql(match))),
  ]
}

export function changeAddressSql(
  { clock, events }: Parts,
  match: UserMatch & { id: string },
  { email, isVerified }: { email: EmailAddress; isVerified: boolean },
  otherwise: () => ApiError,
  isReserved: () => ApiError,
): readonly Step<UserRow>[] {
  const now = clock.now()
  return [
    requireRow(
      sql<UserRow>`
        update auth_users set email = ${email.address}, email_key = ${email.key},
          email_verified_at = ${isVerified ? now : null}, credentials_version = credentials_version + 1, updated_at = ${now}
        where ${matchSql(match)} returning *`,
      otherwise,
    ),
    // Another address may give or take the role, by SIXWIRE_ADMINS.
    ...endImpersonationsSql(accountSql(match)),
    notReservedSql(email.key, match.id, now, isReserved),
    ...withoutRows(events.publishSql('updated', accountSql(match))),
  ]
}

export function restoreAddressSql(
  parts: Parts,
  match: UserMatch & { id: string },
  { email, verifiedAt, since }: { email: EmailAddress; verifiedAt: number; since: number },
  otherwise: () => ApiError,
): readonly Step<UserRow>[] {
  const { clock, events } = parts
  const deleteSteps = [
    ...deleteFactorsSql(sql`${match.id}`, since),
    sql<never>`delete from auth_phones where user_id = ${match.id} and verified_at >= ${since}`,
  ]
  return [
    requireRow(
      sql<UserRow>`
        update auth_users set email = ${email.address}, email_key = ${email.key}, email_verified_at = ${verifiedAt},
          password_hash = null, credentials_version = credentials_version + 1, updated_at = ${clock.now()}
        where ${matchSql(match)} returning *`,
      otherwise,
    ),
    endSessionsSql(accountSql(match)),
    ...endImpersonationsSql(accountSql(match)),
    // The version is another one by now.
    ...withoutRows(factorSql(parts, { id: match.id }, deleteSteps, otherwise)),
    ...withoutRows(events.publishSql('updated', accountSql(match))),
  ]
}

export const updateProfileSql = (
  { clock, events }: Parts,
  match: UserMatch,
  { name, metadata }: { name: string | null; metadata: string },
  otherwise: () => ApiError,
): readonly Step<UserRow>[] => [
  requireRow(
    sql<UserRow>`
      update auth_users set name = ${name}, name_key = ${keyOf(name)}, metadata = ${metadata}, updated_at = ${clock.now()}
      where ${matchSql(match)} returning *`,
    otherwise,
  ),
  ...withoutRows(events.publishSql('updated', accountSql(match))),
]

export const renewHashSql = (user: UserRow, passwordHash: string): Sql => sql`
  update auth_users set password_hash = ${passwordHash}
  where id = ${user.id} and password_hash = ${user.password_hash}`

export const lastSignInSql = (id: string, now: number): Sql =>
  sql`update auth_users set last_sign_in_at = ${now} where id = ${id}`

export const beginRequirementSql = (id: string, dueAt: number): Sql => sql`
  update auth_users set second_factor_due_at = ${dueAt} where id = ${id} and second_factor_due_at is null`

export function factorSql(
  { clock }: Parts,
  match: UserMatch,
  change: readonly Step[],
  otherwise: () => ApiError,
): readonly Step[] {
  const now = clock.now()
  return [
    requireRow(sql`update auth_users set updated_at = ${now} where ${matchSql(match)}`, otherwise),
    ...change,
    sql`update auth_users set second_factor_at = case
          when exists (select 1 from auth_passkeys where user_id = auth_users.id)
            or exists (select 1 from auth_totp where user_id = auth_users.id)
          then coalesce(second_factor_at, cast(${now} as bigint)) end
        where ${accountSql(match)}`,
  ]
}

export const removeFactorsSql = (
  parts: Parts,
  match: UserMatch,
  otherwise: () => ApiError,
): readonly Step[] =>
  factorSql(
    parts,
    match,
    deleteFactorsSql(sql`(select id from auth_users where ${accountSql(match)})`),
    otherwise,
  )

export const deleteSql = (
  { events }: Parts,
  match: UserMatch,
  otherwise: () => ApiError,
): readonly Step[] => [
  // While there is a row. If the account does not match any more, all of it is rolled back.
  ...events.publishSql('deleted', matchSql(match)),
  requireRow(sql`delete from auth_users where ${matchSql(match)}`, otherwise),
]

const keyOf = (name: string | null): string | null => (name === null ? null : searchKey(name))

const keepFactorIfVerified = sql.literal(
  'second_factor_at = case when email_verified_at is null then null else second_factor_at end',
)

/** The first steps of a batch that verifies an address: while it is not verified, they remove factors and phone number. */
function clearFactorsSql(match: UserMatch, otherwise: () => ApiError, now: number): readonly Step<never>[] {
  const unverifiedSql = sql`(select id from auth_users where ${accountSql(match)} and email_verified_at is null)`
  return [
    // On PostgreSQL this locks the row before the next statements read whether the address is verified.
    requireRow(sql<never>`update auth_users set updated_at = ${now} where ${matchSql(match)}`, otherwise),
    ...deleteFactorsSql(unverifiedSql),
    sql<never>`delete from auth_phones where user_id = ${unverifiedSql}`,
  ]
}

/** The account's row has to be locked before: a session that is being created waits for it, or is seen here. */
const endSessionsSql = (account: Sql, keepSessionId = ''): Sql<never> => sql<never>`
  delete from auth_sessions where user_id = (select id from auth_users where ${account}) and id <> ${keepSessionId}`

/** Sessions in which an administrator acts as a user: either may be another than before. */
const endImpersonationsSql = (account: Sql): readonly Sql<never>[] => [
  sql<never>`delete from auth_sessions where impersonator_id = (select id from auth_users where ${account})`,
  sql<never>`
    delete from auth_sessions
    where user_id = (select id from auth_users where ${account}) and kind = 'impersonation'`,
]

/** Steps that answer no rows, among those that answer the account. */
const withoutRows = (steps: readonly Step[]): readonly Step<never>[] => steps as readonly Step<never>[]
