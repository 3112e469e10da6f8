import { emailKey } from '../../../base/email-address.ts'
import { COMMAND_LINE, type Actor } from '../../../http/actor.ts'
import type { UserCaller } from '../../../http/access.ts'
import type { Page } from '../../../http/page.ts'
import type { Session } from '../sessions/session-list.ts'
import type { Role } from '../accounts/user.ts'
import {
  accountOf,
  readAccount,
  requireAccount,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'
import { changeAccount, deleteAccount, type AccountChange } from './account-changes.ts'
import { detailsOf, type AccountDetails } from './account-details.ts'
import { createAccount, inviteAccount, type NewAccount } from './account-creation.ts'
import { listAccounts, type AccountFilter, type ListedAccount } from './account-search.ts'
import { endSession, endSessions } from './account-sessions.ts'
import { removeFactors, sendReset, setPassword, unlockAccount } from './account-credentials.ts'
import {
  importUsers,
  type UserImportCounts,
  type UserImportOptions,
  type UserImportWatch,
} from './user-import/import-users.ts'
import { impersonate, type Impersonation, type ImpersonationRequest } from './impersonation.ts'

/**
 * Manages accounts, as the operator at the command line or on behalf of who calls a route. An account is named by its address,
 * which case does not matter in, or by `{ id }`. Every change has an entry in the audit log, in its batch.
 *
 * All but `list` and `create` throw NOT_FOUND if there is no such account.
 *
 * @example
 * const accounts = app.service('auth').users
 * await accounts.promote('ada@example.com')
 */
export type Accounts = {
  /** Lists accounts, newest first. @param page.limit default 20 */
  list(
    page?: AccountFilter & Partial<Page>,
  ): Promise<{ accounts: ListedAccount[]; total: number | undefined; nextCursor?: string }>
  /** Finds the account; undefined if there is none. */
  find(account: AccountRef): Promise<Account | undefined>
  /**
   * Whether `SIXWIRE_ADMINS` makes the account an administrator once its address is verified, or the one that an address would
   * get.
   */
  isNamedAdmin(account: AccountRef): Promise<boolean>
  /** The account with its factors, identities and sessions. */
  details(account: AccountRef): Promise<AccountDetails>
  /**
   * Creates an account, also if registration is closed. One without a password is sent a link to set one, which verifies the
   * address; another one whose address is not verified is sent the link to verify it.
   *
   * @throws VALIDATION_ERROR, EMAIL_TAKEN; PROVIDER_NOT_CONFIGURED without a password if no mail can be sent
   */
  create(account: NewAccount, actor?: Actor): Promise<Account>
  /**
   * Creates accounts from a file of NDJSON, with their ids and the hashes of their passwords: see docs/auth.md. A line with the
   * `_id` of an account changes nothing.
   *
   * @param watch is told of each line that is refused
   * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE for a file that cannot be read on; what is written until then stays
   */
  import(
    bytes: AsyncIterable<Buffer>,
    options: UserImportOptions,
    watch: UserImportWatch,
    actor?: Actor,
  ): Promise<UserImportCounts>
  /** Sends the link to set a password again. @throws CONFLICT if the account has one; PROVIDER_NOT_CONFIGURED */
  invite(account: AccountRef, actor?: Actor): Promise<Account>
  /**
   * Changes what is given. Another address is not verified unless `verified` is given too, and links that went to the old one
   * are void.
   *
   * @throws VALIDATION_ERROR, EMAIL_TAKEN
   * @throws CONFLICT for the last administrator, for disabling oneself, and for a role that `SIXWIRE_ADMINS` gives
   */
  update(account: AccountRef, change: AccountChange, actor?: Actor): Promise<Account>
  /**
   * Sets another password, ends all sessions, unlocks the address and tells its owner by email.
   *
   * @throws VALIDATION_ERROR
   */
  setPassword(account: AccountRef, password: string, actor?: Actor): Promise<Account>
  /** Makes the account an administrator. */
  promote(account: AccountRef, actor?: Actor): Promise<Account>
  /** Makes the account a viewer, who reads what an administrator reads and changes nothing. @throws as `update` */
  makeViewer(account: AccountRef, actor?: Actor): Promise<Account>
  /** Removes the role of administrator or viewer. @throws as `update` */
  demote(account: AccountRef, actor?: Actor): Promise<Account>
  /** Marks the address as verified without an email. */
  verify(account: AccountRef, actor?: Actor): Promise<Account>
  /** Ends all sessions of the account and prevents new ones. @throws as `update` */
  disable(account: AccountRef, actor?: Actor): Promise<Account>
  /** Lets a disabled account sign in again. */
  enable(account: AccountRef, actor?: Actor): Promise<Account>
  /** Clears the count of wrong passwords and codes, so that a locked address accepts the password again. */
  unlock(account: AccountRef, actor?: Actor): Promise<Account>
  /** Sends a link to reset the password. @throws CONFLICT if the account is disabled; PROVIDER_NOT_CONFIGURED */
  sendReset(account: AccountRef, actor?: Actor): Promise<Account>
  /**
   * Removes all second factors of an account whose owner has lost them, ends all its sessions and tells the owner by email. The
   * next sign-in needs one factor only, so make sure who asks for it.
   */
  removeFactors(account: AccountRef, actor?: Actor): Promise<Account>
  /** Lists the sessions of the account that have not expired, newest first. */
  sessions(account: AccountRef, page: Page): ReturnType<AdministrationParts['sessions']['list']>
  /** Ends one session of the account. @throws NOT_FOUND also if it has no such session */
  endSession(account: AccountRef, sessionId: string, actor?: Actor): Promise<void>
  /**
   * Ends all sessions of the account, or of all accounts without one. Passwords stay as they are, and links that were sent stay
   * valid.
   *
   * @returns how many sessions there were
   */
  signOut(account?: AccountRef, actor?: Actor): Promise<number>
  /** Deletes the account as its owner can. @throws CONFLICT for the last administrator, and for the account of the caller */
  delete(account: AccountRef, actor?: Actor): Promise<Account>
  /**
   * Creates a session in which an administrator acts as the user: 15 minutes, without a refresh token, and reading only unless
   * said otherwise.
   *
   * @throws CONFLICT if the account is disabled; FORBIDDEN for another administrator or a viewer
   */
  impersonate(
    account: AccountRef,
    request: ImpersonationRequest,
    admin: UserCaller,
    actor: Actor,
  ): Promise<Impersonation>
}

export type { Account, AccountDetails, AccountRef, Role, Session }

export function createAccounts(parts: AdministrationParts): Accounts {
  const update: Accounts['update'] = async (account, change, actor = COMMAND_LINE) =>
    accountOf(parts, await changeAccount(parts, account, change, actor))
  return {
    list: (page) => listAccounts(parts, page),
    find: (account) => readAccount(parts, account).then((user) => user && accountOf(parts, user)),
    async isNamedAdmin(account) {
      const key =
        typeof account === 'string' ? emailKey(account) : (await requireAccount(parts, account)).email_key
      return parts.users.isNamedAdmin({ email_key: key })
    },
    details: (account) => detailsOf(parts, account),
    create: (account, actor = COMMAND_LINE) => createAccount(parts, account, actor),
    import: (bytes, options, watch, actor = COMMAND_LINE) => importUsers(parts, bytes, options, watch, actor),
    invite: (account, actor = COMMAND_LINE) => inviteAccount(parts, account, actor),
    update,
    setPassword: (account, password, actor = COMMAND_LINE) => setPassword(parts, account, password, actor),
    promote: (account, actor) => update(account, { role: 'admin' }, actor),
    makeViewer: (account, actor) => update(account, { role: 'viewer' }, actor),
    demote: (account, actor) => update(account, { role: 'user' }, actor),
    verify: (account, actor) => update(account, { verified: true }, actor),
    disable: (account, actor) => update(account, { disabled: true }, actor),
    enable: (account, actor) => update(account, { disabled: false }, actor),
    unlock: (account, actor = COMMAND_LINE) => unlockAccount(parts, account, actor),
    sendReset: (account, actor = COMMAND_LINE) => sendReset(parts, account, actor),
    removeFactors: (account, actor = COMMAND_LINE) => removeFactors(parts, account, actor),
    sessions: async (account, page) => {
      const { id } = await requireAccount(parts, account)
      return parts.sessions.list({ id, sessionId: '' }, page)
    },
    endSession: (account, sessionId, actor = COMMAND_LINE) => endSession(parts, account, sessionId, actor),
    signOut: (account, actor = COMMAND_LINE) => endSessions(parts, account, actor),
    delete: async (account, actor = COMMAND_LINE) =>
      accountOf(parts, await deleteAccount(parts, account, actor)),
    impersonate: (account, request, admin, actor) => impersonate(parts, account, request, admin, actor),
  }
}
