import { parseAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import type { Actor } from '../../../http/actor.ts'
import { authErrors } from '../errors.ts'
import type { Role } from '../accounts/user.ts'
import {
  accountOf,
  requireAccount,
  userTarget,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'

/** An account that the operator creates. */
export type NewAccount = {
  /** Default: a new id. If it has this address already, the call is a repetition and changes nothing. */
  id?: string
  email: string
  /** Absent: the owner is sent a link to set one. */
  password?: string | undefined
  name?: string | undefined
  role?: Role | undefined
  /** Whether the address is its owner's: default true with a password. */
  isVerified?: boolean | undefined
}

/** @throws VALIDATION_ERROR, EMAIL_TAKEN, PROVIDER_NOT_CONFIGURED */
export async function createAccount(
  parts: AdministrationParts,
  { id = newId(parts.clock.now()), email, password, name, role = 'user', isVerified }: NewAccount,
  actor: Actor,
): Promise<Account> {
  const { db, users, passwords, mails, audit, record } = parts
  const address = parseAddress(email, 'email')
  const isInvited = password === undefined
  if (isInvited) mails.requireProvider()
  const passwordHash = isInvited
    ? null
    : await passwords.hash(passwords.check(password, 'password', address.address))
  const verified = isVerified ?? !isInvited
  const user = { id, email: address, name: name?.trim() || null, passwordHash, isVerified: verified }
  const emailTaken = authErrors.email_taken({ message: `${address.address} has an account already.` })
  try {
    await db.batch([
      users.insertSql(user, () => emailTaken),
      role === 'user' ? [] : users.updateSql({ id }, { role }, () => emailTaken),
      isInvited ? mails.invitation(address) : verified ? [] : mails.verification(id),
      audit.entrySql(actor, {
        action: 'user.created',
        target: userTarget(id),
        after: { email: address.address, role, emailVerified: verified, ...(isInvited && { invited: true }) },
      }),
    ])
  } catch (error) {
    const stored = error === emailTaken ? await users.byId(id) : undefined
    if (stored?.email_key !== address.key) throw error
    return accountOf(parts, stored)
  }
  const account = accountOf(parts, await requireAccount(parts, { id }))
  record('account-created', { account: id, role: account.role })
  return account
}

/** @throws NOT_FOUND, CONFLICT, PROVIDER_NOT_CONFIGURED */
export async function inviteAccount(
  parts: AdministrationParts,
  ref: AccountRef,
  actor: Actor,
): Promise<Account> {
  const { db, mails, audit, record } = parts
  const user = await requireAccount(parts, ref)
  mails.requireProvider()
  if (user.disabled_at !== null) throw disabled()
  if (user.password_hash !== null)
    throw errors.conflict({
      message:
        'This account has a password already: send a link to reset it instead (POST /auth/users/:id/reset).',
    })
  await db.batch([
    ...mails.invitation({ address: user.email, key: user.email_key }),
    audit.entrySql(actor, { action: 'user.invited', target: userTarget(user.id) }),
  ])
  record('account-invited', { account: user.id, by: actor.id ?? 'operator' })
  return accountOf(parts, user)
}

export const disabled = () => errors.conflict({ message: 'This account is disabled: enable it first.' })
