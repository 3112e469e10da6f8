import { isoTime } from '../../../base/clock.ts'
import { emailKey } from '../../../base/email-address.ts'
import { errors, type ApiError } from '../../../base/errors.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { ChangeLinks } from '../messages/address-change-links.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import type { MailTokens } from '../messages/mail-tokens.ts'
import type { Lock } from '../accounts/lock.ts'
import type { Passwords } from '../accounts/passwords.ts'
import type { AccessTokens } from '../sessions/access-tokens.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Totp } from '../factors/totp.ts'
import type { Phones } from '../messages/phones.ts'
import type { Role, UserMatch, UserRow } from '../accounts/user.ts'
import type { Users } from '../accounts/users.ts'

/** An account as the operator sees it. */
export type Account = {
  id: string
  /** As typed. */
  email: string
  name: string | null
  /** The effective role, with `SIXWIRE_ADMINS` included. */
  role: Role
  emailVerified: boolean
  disabled: boolean
  /** ISO 8601. */
  createdAt: string
}

/** An account by its address, which case does not matter in, or by its id. */
export type AccountRef = string | { readonly id: string }

/** What administration works with. */
export type AdministrationParts = Pick<WireContext, 'db' | 'clock' | 'record' | 'audit' | 'personalData'> & {
  users: Users
  sessions: Sessions
  passwords: Passwords
  lock: Lock
  mails: AccountMails
  mailTokens: MailTokens
  changeLinks: ChangeLinks
  phones: Phones
  accessTokens: AccessTokens
  totp: Totp
  /**
   * The issuer of the identities of a configured provider.
   *
   * @throws VALIDATION_ERROR if there is none of this name, or each of its tenants has its own; PROVIDER_ERROR
   */
  issuerOf(provider: string): Promise<string>
  /** Whether the owner of an account is told by email that an administrator acts as them. */
  tellsOfImpersonation: boolean
}

export const accountOf = ({ users }: { users: Users }, user: UserRow): Account => ({
  id: user.id,
  email: user.email,
  name: user.name,
  role: users.roleOf(user),
  emailVerified: user.email_verified_at !== null,
  disabled: user.disabled_at !== null,
  createdAt: isoTime(user.created_at),
})

/** Selects the account, also a disabled one. */
export const matchOf = (account: AccountRef): UserMatch => ({
  ...(typeof account === 'string' ? { emailKey: emailKey(account) } : { id: account.id }),
  includeDisabled: true,
})

export const noAccount = (account: AccountRef): ApiError =>
  errors.not_found({
    message:
      typeof account === 'string'
        ? `No account has the address ${account}.`
        : `No account has the id ${account.id}.`,
  })

/** Reads the account; undefined if there is none. */
export const readAccount = ({ users }: { users: Users }, account: AccountRef): Promise<UserRow | undefined> =>
  typeof account === 'string' ? users.byEmail(emailKey(account)) : users.byId(account.id)

/** @throws NOT_FOUND */
export async function requireAccount(parts: { users: Users }, account: AccountRef): Promise<UserRow> {
  const user = await readAccount(parts, account)
  if (!user) throw noAccount(account)
  return user
}

/** How the audit log names an account. */
export const userTarget = (id: string): string => `user:${id}`
