import type { EmailAddress } from '../../../base/email-address.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { AccountRole } from '../../../http/access.ts'

/** `viewer` reads what an administrator reads, and changes nothing. */
export type Role = AccountRole

/** A row of `auth_users`. */
export type UserRow = {
  id: string
  email: string
  email_key: string
  name: string | null
  /** As it is searched. */
  name_key: string | null
  metadata: string
  password_hash: string | null
  /** Without viewers: see `is_viewer`. */
  role: 'user' | 'admin'
  /** 1: with the role `user`, the account is a viewer. */
  is_viewer: number
  credentials_version: number
  email_verified_at: number | null
  disabled_at: number | null
  created_at: number
  updated_at: number
  /** Since when the account has a second factor; null: it has none. */
  second_factor_at: number | null
  /** From when the policy of second factors accepts no sign-in without one; null: its owner was not told yet. */
  second_factor_due_at: number | null
  last_sign_in_at: number | null
}

/** Selects an account. A statement finds no row if the account no longer matches when the statement runs. */
export type UserMatch = ({ id: string } | { emailKey: string }) & {
  /** `credentials_version` as it was read. */
  version?: number
  isUnverified?: true
  /** Match disabled accounts too. */
  includeDisabled?: true
  /** What else must hold. */
  condition?: Sql
}

export type NewUser = {
  id: string
  email: EmailAddress
  name: string | null
  passwordHash: string | null
  isVerified: boolean
}

/** An account of another system. Times are milliseconds since 1970. */
export type ForeignUser = NewUser & {
  /** JSON. */
  metadata: string
  role: Role
  isDisabled: boolean
  createdAt: number
  /** Whether its batch adds a second factor. */
  hasFactor: boolean
}

/** What changes in an account; what is left out stays. */
export type UserChange = {
  /** Null removes the password. */
  passwordHash?: string | null
  /** Verifies the address, unless it is verified already. */
  isVerified?: true
  isDisabled?: boolean
  role?: Role
  /** The same address as its owner writes it: the key stays. */
  spelling?: string
  /** Ends all sessions, and voids what was proven before. */
  endsSessions?: true
}

/** The account among the rows of `insertSql`, `updateSql` or `verifySql`: the other statements answer rows without columns. */
export const userAmong = (rows: readonly UserRow[][]): UserRow => rows.flat().find((row) => 'id' in row)!

/** Selects the row of the account, whatever its state. */
export const accountSql = (match: UserMatch): Sql =>
  'id' in match ? sql`id = ${match.id}` : sql`email_key = ${match.emailKey}`

/** Selects the row of the account if it still matches. */
export function matchSql(match: UserMatch): Sql {
  const conditions = [accountSql(match)]
  if (match.version !== undefined) conditions.push(sql`credentials_version = ${match.version}`)
  if (match.isUnverified) conditions.push(sql`email_verified_at is null`)
  if (!match.includeDisabled) conditions.push(sql`disabled_at is null`)
  if (match.condition) conditions.push(match.condition)
  return sql.join(conditions, ' and ')
}

/** A name, or what is searched for, without case and accents. */
export const searchKey = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
