import { isDeepStrictEqual } from 'node:util'

import { parseAddress, type EmailAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'
import { ConstraintError, type Step, type Transaction } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import { authErrors } from '../errors.ts'
import { mergeMetadata } from './metadata.ts'
import { personOf } from '../accounts/person.ts'
import { accountSql, type Role, type UserMatch, type UserRow } from '../accounts/user.ts'
import {
  accountOf,
  matchOf,
  noAccount,
  userTarget,
  type Account,
  type AccountRef,
  type AdministrationParts,
} from './account.ts'
import { changeAddressSql } from './account-address.ts'

/** What an administrator changes in an account; what is left out stays. */
export type AccountChange = {
  /** Not verified, unless only its spelling changes or `verified` is set. */
  email?: string | undefined
  /** Null or blanks remove it. */
  name?: string | null | undefined
  /** Merged into the stored metadata at the top level: null removes a field. */
  metadata?: Record<string, unknown> | undefined
  role?: Role | undefined
  /** Disabling ends all sessions and prevents new ones. */
  disabled?: boolean | undefined
  /** Marks the address as verified without an email. */
  verified?: true | undefined
}

/** The events of the log, by what has changed. */
const EVENTS = {
  address: 'address-changed',
  profile: 'account-updated',
  role: 'role-changed',
  disabled: 'account-disabled',
  enabled: 'account-enabled',
  verified: 'address-verified',
} as const

const ACTIONS = {
  address: 'user.email-changed',
  profile: 'user.profile-changed',
  role: 'user.role-changed',
  disabled: 'user.disabled',
  enabled: 'user.enabled',
  verified: 'user.verified',
} as const

type ParsedChange = Omit<AccountChange, 'email'> & { email: EmailAddress | undefined }

type Part = keyof typeof ACTIONS

/**
 * Changes an account, with an entry of the audit log for each thing that is another now.
 *
 * The transaction is serializable: of two administrators who take the role from each other, the later one finds no other
 * administrator and is refused.
 *
 * @throws NOT_FOUND; EMAIL_TAKEN; VALIDATION_ERROR for what is no address, and if the metadata would exceed 16 KiB
 * @throws CONFLICT for the last administrator, for disabling oneself, and for a role that `SIXWIRE_ADMINS` gives
 */
export async function changeAccount(
  parts: AdministrationParts,
  account: AccountRef,
  change: AccountChange,
  actor: Actor,
): Promise<UserRow> {
  const { db, record } = parts
  const email = change.email === undefined ? undefined : parseAddress(change.email, 'email')
  const work = db.transaction(async (tx) => {
    const before = await readForChange(tx, account)
    if (change.disabled && before.id === actor.id) throw refusesOneself('disable')
    for (const step of changeSql(parts, before, { ...change, email }, actor)) await tx.write(step)
    const after = await readForChange(tx, { id: before.id })
    const partChanges = partsOf(parts, before, after)
    for (const { part, was, is } of partChanges)
      await tx.write(
        parts.audit.entrySql(actor, {
          action: ACTIONS[part],
          target: userTarget(before.id),
          before: was,
          after: is,
        }),
      )
    return [after, partChanges] as const
  })
  const [user, changes] = await work.catch((error: unknown) => {
    throw email && error instanceof ConstraintError && error.kind === 'unique' ? emailTaken(email) : error
  })
  const { id, role } = accountOf(parts, user)
  for (const { part } of changes) record(EVENTS[part], { account: id, role })
  return user
}

/**
 * Deletes an account, its sessions and every token that was sent to its address, and has all else that is of the person erased soon
 * after; what stays has an id that no account has.
 *
 * @throws NOT_FOUND; CONFLICT for the last administrator, and for the account of the caller
 */
export async function deleteAccount(
  parts: AdministrationParts,
  account: AccountRef,
  actor: Actor,
): Promise<UserRow> {
  const { db, clock, users, mailTokens, audit, personalData, record } = parts
  const user = await db.transaction(async (tx) => {
    const row = await readForChange(tx, account)
    if (row.id === actor.id) throw refusesOneself('delete')
    const match = { id: row.id, includeDisabled: true, condition: users.leavesAdminSql(row.id) } as const
    const person = await personOf(tx, row.id, clock.now())
    const steps = [
      mailTokens.deleteSql(row.email_key),
      ...users.deleteSql(match, lastAdmin),
      personalData.eraseSql(person!),
      audit.entrySql(actor, { action: 'user.deleted', target: userTarget(row.id) }),
    ]
    for (const step of steps) await tx.write(step)
    return row
  })
  record('account-deleted', { account: user.id, by: actor.id ?? 'operator' })
  return user
}

async function readForChange(tx: Transaction, account: AccountRef): Promise<UserRow> {
  const user = await tx.get(sql<UserRow>`select * from auth_users where ${accountSql(matchOf(account))}`)
  if (!user) throw noAccount(account)
  return user
}

function changeSql(
  parts: AdministrationParts,
  before: UserRow,
  { email, name, metadata, role, disabled, verified }: ParsedChange,
  actor: Actor,
): readonly Step[] {
  const { users } = parts
  const match: UserMatch = { id: before.id, includeDisabled: true }
  // The command line disables any account: the last administrator's may be in the wrong hands, and it can make another one.
  const losesRole =
    (role !== undefined && role !== 'admin') || (disabled === true && actor.kind !== 'command')
  const isMoved = email !== undefined && email.key !== before.email_key
  const moved = isMoved
    ? {
        ...before,
        email: email.address,
        email_key: email.key,
        email_verified_at: verified ? parts.clock.now() : null,
      }
    : before
  const leavesRole =
    isMoved &&
    users.roleOf(before) === 'admin' &&
    users.roleOf({ ...moved, role: role === 'admin' ? role : moved.role }) !== 'admin'
  if (role !== undefined && role !== 'admin' && users.roleOf({ ...moved, role: 'user' }) === 'admin')
    throw errors.conflict({
      message: `${moved.email} is an administrator by SIXWIRE_ADMINS: remove the address there.`,
    })
  const absent = () => noAccount({ id: before.id })
  const profile = {
    name: name === undefined ? before.name : name?.trim() || null,
    metadata: metadata === undefined ? before.metadata : mergeMetadata(before.metadata, metadata),
  }
  const rights = {
    ...(role !== undefined && { role }),
    ...(disabled !== undefined && { isDisabled: disabled }),
    ...(verified && !isMoved && { isVerified: verified }),
    ...(email && !isMoved && email.address !== before.email && { spelling: email.address }),
  }
  return [
    ...(isMoved
      ? changeAddressSql(
          parts,
          before,
          {
            email,
            isVerified: verified === true,
            ...(leavesRole && { condition: users.leavesAdminSql(before.id) }),
          },
          { otherwise: leavesRole ? lastAdmin : absent, emailTaken: () => emailTaken(email) },
        )
      : []),
    ...(name === undefined && metadata === undefined ? [] : users.updateProfileSql(match, profile, absent)),
    ...(Object.keys(rights).length === 0
      ? []
      : users.updateSql(
          losesRole ? { ...match, condition: users.leavesAdminSql(before.id) } : match,
          rights,
          losesRole ? lastAdmin : absent,
        )),
  ]
}

/** What differs between two states of an account. */
function partsOf(
  parts: AdministrationParts,
  before: UserRow,
  after: UserRow,
): readonly { part: Part; was?: object; is?: object }[] {
  const [was, is] = [accountOf(parts, before), accountOf(parts, after)]
  const metadata = changedFields(before.metadata, after.metadata)
  return [
    ...(was.email === is.email ? [] : [{ part: 'address', was: addressOf(was), is: addressOf(is) } as const]),
    ...(was.name === is.name
      ? []
      : [{ part: 'profile', was: { name: was.name }, is: { name: is.name } } as const]),
    // Its fields by their names only: what is in them is the application's.
    ...(metadata.length === 0 ? [] : [{ part: 'profile', is: { metadata } } as const]),
    ...(was.role === is.role
      ? []
      : [{ part: 'role', was: { role: was.role }, is: { role: is.role } } as const]),
    ...(was.disabled === is.disabled
      ? []
      : [
          {
            part: is.disabled ? 'disabled' : 'enabled',
            was: { disabled: was.disabled },
            is: { disabled: is.disabled },
          } as const,
        ]),
    // Of another address it is in the entry of that.
    ...(was.emailVerified === is.emailVerified || before.email_key !== after.email_key
      ? []
      : [{ part: 'verified', was: { emailVerified: false }, is: { emailVerified: true } } as const]),
  ]
}

const addressOf = ({ email, emailVerified }: Account) => ({ email, emailVerified })

function changedFields(before: string, after: string): string[] {
  const [was, is] = [before, after].map((text) => parseJson(text) as Record<string, unknown>)
  return Object.keys({ ...was, ...is }).filter((name) => !isDeepStrictEqual(was![name], is![name]))
}

const emailTaken = ({ address }: EmailAddress) =>
  authErrors.email_taken({ message: `${address} has an account already.` })

const lastAdmin = () =>
  errors.conflict({
    message: 'This account is the last administrator: make another one an administrator first.',
  })

const refusesOneself = (verb: string) =>
  errors.conflict({ message: `You can't ${verb} your own account here: ask another administrator.` })
