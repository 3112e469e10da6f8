// What an operator does for a user who cannot sign in.
import type { Actor } from '../../../http/actor.ts'
import { lockKeyOf } from '../messages/phones.ts'
import { userAmong } from '../accounts/user.ts'
import { disabled } from './account-creation.ts'
import {
  accountOf,
  noAccount,
  requireAccount,
  userTarget,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'

/** @throws VALIDATION_ERROR, NOT_FOUND */
export async function setPassword(
  parts: AdministrationParts,
  account: AccountRef,
  password: string,
  actor: Actor,
): Promise<Account> {
  const { db, users, passwords, lock, mails, audit, record } = parts
  const user = await requireAccount(parts, account)
  const passwordHash = await passwords.hash(passwords.check(password, 'password', user.email))
  const match = { id: user.id, includeDisabled: true } as const
  const [rows] = await db.batch([
    users.updateSql(match, { passwordHash }, () => noAccount(account)),
    lock.unlockSql(user.email_key),
    mails.notice(user.id, 'password-changed'),
    audit.entrySql(actor, { action: 'user.password-set', target: userTarget(user.id) }),
  ])
  record('password-changed', { account: user.id, method: 'operator' })
  return accountOf(parts, userAmong(rows))
}

/** @throws NOT_FOUND */
export async function unlockAccount(
  parts: AdministrationParts,
  account: AccountRef,
  actor: Actor,
): Promise<Account> {
  const { db, lock, phones, audit, record } = parts
  const user = await requireAccount(parts, account)
  const phone = await phones.of(user.id)
  await db.batch([
    lock.unlockSql(user.email_key),
    ...(phone === undefined ? [] : [lock.unlockSql(lockKeyOf(phone))]),
    audit.entrySql(actor, { action: 'user.unlocked', target: userTarget(user.id) }),
  ])
  record('account-unlocked', { account: user.id, by: actor.id ?? 'operator' })
  return accountOf(parts, user)
}

/** @throws NOT_FOUND, CONFLICT, PROVIDER_NOT_CONFIGURED */
export async function sendReset(
  parts: AdministrationParts,
  account: AccountRef,
  actor: Actor,
): Promise<Account> {
  const { db, mails, audit, record } = parts
  const user = await requireAccount(parts, account)
  mails.requireProvider()
  if (user.disabled_at !== null) throw disabled()
  await db.batch([
    mails.resetSql({ address: user.email, key: user.email_key }),
    audit.entrySql(actor, { action: 'user.reset-sent', target: userTarget(user.id) }),
  ])
  record('reset-sent', { account: user.id, by: actor.id ?? 'operator' })
  return accountOf(parts, user)
}

/** @throws NOT_FOUND */
export async function removeFactors(
  parts: AdministrationParts,
  account: AccountRef,
  actor: Actor,
): Promise<Account> {
  const { db, users, mails, audit, record } = parts
  const user = await requireAccount(parts, account)
  const absent = () => noAccount(account)
  const match = { id: user.id, includeDisabled: true } as const
  const [, rows] = await db.batch([
    users.removeFactorsSql(match, absent),
    users.updateSql(match, { endsSessions: true }, absent),
    mails.notice(user.id, 'factors-removed'),
    audit.entrySql(actor, { action: 'user.factors-removed', target: userTarget(user.id) }),
  ])
  record('factors-removed', { account: user.id, by: actor.id ?? 'operator' })
  return accountOf(parts, userAmong(rows))
}
