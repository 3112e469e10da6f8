import { isoTime } from '../../../base/clock.ts'
import { containsSql } from '../../../db/contains.ts'
import { isOneOf } from '../../../db/is-one-of.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { cutPage, type Page } from '../../../http/page.ts'
import { byBytes, orderOf, type SortColumns } from '../../../kernel/requests/list-order.ts'
import { searchKey, type Role, type UserRow } from '../accounts/user.ts'
import { accountOf, type Account, type AdministrationParts } from './account.ts'

/** The states that accounts are listed by. */
export const USER_STATES = ['active', 'disabled', 'unverified', 'locked'] as const

/**
 * - `active`: enabled, with a verified address;
 * - `disabled`;
 * - `unverified`: enabled, with an address that is not verified;
 * - `locked`: its address accepts no password now.
 */
export type UserState = (typeof USER_STATES)[number]

/** Which accounts to list; times are milliseconds since 1970, `…since` inclusive, `…until` exclusive. */
export type AccountFilter = {
  /** A part of the address or name, which case and accents of the name do not matter in. */
  q?: string | undefined
  role?: Role | undefined
  state?: UserState | undefined
  ids?: readonly string[] | undefined
  /** When it was created. */
  since?: number | undefined
  until?: number | undefined
  /** When its user signed in or stayed signed in, to the hour. */
  activeSince?: number | undefined
  activeUntil?: number | undefined
}

/** An account in a list. */
export type ListedAccount = Account & {
  /** Whether its address accepts no password now. */
  locked: boolean
  /** ISO 8601; null: it has not signed in since this is stored. */
  lastSignInAt: string | null
}

type ListedUser = UserRow & { is_locked: number }

/** What accounts are sorted by. Ids of another system do not sort by time. */
const SORTS: SortColumns<ListedUser> = {
  createdAt: { key: sql.literal('created_at'), isNumber: true, valueOf: (user) => user.created_at },
  lastSignInAt: {
    key: sql.literal('coalesce(last_sign_in_at, 0)'),
    isNumber: true,
    valueOf: (user) => user.last_sign_in_at ?? 0,
  },
  email: { key: byBytes('email_key'), valueOf: (user) => user.email_key },
  name: { key: byBytes(`coalesce(name_key, '')`), valueOf: (user) => user.name_key ?? '' },
}

type Parts = Pick<AdministrationParts, 'db' | 'users' | 'lock'>

// Of what many accounts have in common, the first of these fill the page; the index finds the rest.
const WINDOW = 2_000
const GRAM = 3
const HOUR_MS = 3_600_000

/** Lists accounts, newest first unless the page is sorted otherwise. */
export async function listAccounts(
  parts: Parts,
  { limit = 20, offset = 0, before, sort, counts = true, ...filter }: AccountFilter & Partial<Page> = {},
): Promise<{ accounts: ListedAccount[]; total: number | undefined; nextCursor?: string }> {
  const [{ rows, ...rest }, total] = await Promise.all([
    searchAccounts(parts, filter, { limit, offset, before, sort }),
    counts ? countAccounts(parts, filter) : undefined,
  ])
  const accounts = rows.map((user) => ({
    ...accountOf(parts, user),
    locked: user.is_locked === 1,
    lastSignInAt: user.last_sign_in_at === null ? null : isoTime(user.last_sign_in_at),
  }))
  return { accounts, total, ...rest }
}

async function searchAccounts(
  parts: Parts,
  filter: AccountFilter,
  page: Page,
): Promise<{ rows: readonly ListedUser[]; nextCursor?: string }> {
  const { db } = parts
  const { limit, offset } = page
  const { by, behind, positionOf } = orderOf(SORTS, page)
  const conditions = [...filterSql(parts, filter), ...behind]
  const select = sql`select *, ${isInSql(parts.lock.usersSql())} as is_locked`
  const order = sql`order by ${by} limit ${limit + 1} offset ${offset}`
  const pageSql = (from: Sql, where: readonly Sql[]) =>
    sql<ListedUser>`${select} from ${from} ${whereSql(where)} ${order}`
  const table = sql.literal('auth_users')
  const key = searchKey(filter.q ?? '')
  if (key === '') return cutPage(await db.scan(pageSql(table, conditions)), page, positionOf)

  const all = [...conditions, containsSql(textSql, key)]
  const window = sql`(select * from auth_users ${whereSql(behind)} order by ${by} limit ${WINDOW}) auth_users`
  const newest = await db.scan(pageSql(window, all))
  if (newest.length > limit) return cutPage(newest, page, positionOf)
  const grams = gramsSql(key)
  if (grams.length === 0) return cutPage(await db.scan(pageSql(table, all)), page, positionOf)
  // Read on its own: in the order of the page PostgreSQL would walk through all accounts where many are expected.
  const matches = await db.scan(sql<ListedUser>`
    with hits as materialized (
      select id, created_at, last_sign_in_at, email_key, name_key from auth_users ${whereSql([...all, ...grams])})
    ${select} from auth_users where id in (select id from hits ${order}) order by ${by}`)
  return cutPage(matches, page, positionOf)
}

/** All that a filter asks of an account. */
export function accountConditions(parts: Pick<Parts, 'users' | 'lock'>, filter: AccountFilter): Sql[] {
  const key = searchKey(filter.q ?? '')
  return [...filterSql(parts, filter), ...(key === '' ? [] : [containsSql(textSql, key), ...gramsSql(key)])]
}

async function countAccounts(parts: Parts, filter: AccountFilter): Promise<number> {
  const [count] = await parts.db.scan<{ total: number }>(
    sql`select count(*) as total from auth_users ${whereSql(accountConditions(parts, filter))}`,
  )
  return count!.total
}

function filterSql({ users, lock }: Pick<Parts, 'users' | 'lock'>, filter: AccountFilter): Sql[] {
  const { role, state, ids, since, until } = filter
  const isAdmin = users.isAdminSql()
  const roles: Record<Role, readonly Sql[]> = {
    admin: [isInSql(users.withRoleSql()), isAdmin],
    viewer: [isInSql(users.withRoleSql()), sql`is_viewer = 1`, sql`not ${isAdmin}`],
    user: [sql`role = 'user'`, sql`is_viewer = 0`, sql`not ${isAdmin}`],
  }
  const states: Record<UserState, readonly Sql[]> = {
    active: [sql`disabled_at is null`, sql`email_verified_at is not null`],
    disabled: [sql`disabled_at is not null`],
    unverified: [sql`email_verified_at is null`, sql`disabled_at is null`],
    locked: [isInSql(lock.usersSql())],
  }
  return [
    ...(role === undefined ? [] : roles[role]),
    ...(state === undefined ? [] : states[state]),
    ...(ids === undefined ? [] : [isOneOf('id', ids)]),
    ...(since === undefined ? [] : [sql`created_at >= ${since}`]),
    ...(until === undefined ? [] : [sql`created_at < ${until}`]),
    ...activitySql(filter),
  ]
}

/** By the primary key of the hours, for each account of the page: of a long time there are more hours than accounts. */
function activitySql({ activeSince, activeUntil }: AccountFilter): Sql[] {
  if (activeSince === undefined && activeUntil === undefined) return []
  const hourOf = (ms: number): number => Math.ceil(ms / HOUR_MS)
  return [
    sql`exists (
      select 1 from auth_active_hours where user_id = auth_users.id
        and hour >= ${hourOf(activeSince ?? 0)} and hour < ${hourOf(activeUntil ?? Number.MAX_SAFE_INTEGER)})`,
  ]
}

const textSql = sql.literal(`email_key || ' ' || coalesce(name_key, '')`)

/** The condition by which an index finds what has all trigrams of a text; none for a shorter text. */
function gramsSql(key: string): Sql[] {
  const characters = Array.from(key)
  const grams = [
    ...new Set(characters.slice(GRAM - 1).map((_, at) => characters.slice(at, at + GRAM).join(''))),
  ]
  if (grams.length === 0) return []
  const match = grams.map((gram) => `"${gram.replaceAll('"', '""')}"`).join(' AND ')
  return [
    sql`${sql.either({
      sqlite: sql`id in (
        select user_id from auth_user_places where place in (
          select rowid from auth_user_search where auth_user_search match ${match}))`,
      postgres: sql`auth_trigrams(${textSql}) @> string_to_array(${grams.join('\n')}, ${'\n'})`,
    })}`,
  ]
}

const isInSql = (ids: Sql): Sql => sql`id in (${ids})`

const whereSql = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql.literal('') : sql`where ${sql.join(conditions, ' and ')}`
