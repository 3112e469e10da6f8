import type { Static } from 'typebox'

import { ApiError, errors, isPassing } from '../../../../base/errors.ts'
import { newId } from '../../../../base/ids.ts'
import { jsonLinesIn } from '../../../../base/json-lines.ts'
import { Type } from '../../../../base/schema.ts'
import { requireRow, type Step } from '../../../../db/database.ts'
import { isOneOf } from '../../../../db/is-one-of.ts'
import { sql } from '../../../../db/sql.ts'
import type { Actor } from '../../../../http/actor.ts'
import { authErrors } from '../../errors.ts'
import { userTarget, type AdministrationParts } from '../account.ts'
import { createUserReader, type ImportedUser } from './imported-user.ts'

/** Users that are written together. */
const BATCH = 100
/** Metadata have 16 KiB at most. */
const LINE_MAX = 65_536

/** A line that is refused, and why. */
export const RefusedLine = Type.Object(
  {
    line: Type.Integer(),
    _id: Type.Optional(Type.String({ description: 'Absent if it could not be read.' })),
    code: Type.String({ examples: ['EMAIL_TAKEN'] }),
    message: Type.String(),
  },
  { title: 'RefusedLine' },
)
export type RefusedLine = Static<typeof RefusedLine>

/** How an import ended, beside the lines that were refused. */
export type UserImportCounts = {
  /** How many accounts are created. */
  created: number
  /** How many lines have the `_id` of an account: it stays as it is. */
  unchanged: number
  refused: number
}

export type UserImportOptions = {
  /** Checks all lines against the accounts, and writes nothing. */
  readonly dryRun: boolean
  /** Whether lines may have a role. */
  readonly mayGiveRoles: boolean
}

/** Whom an import tells how far it is. */
export type UserImportWatch = {
  /** A line was refused. */
  refused(line: RefusedLine): void
  /** Lines are done. */
  counted?(lines: number): void
}

type UserImport = {
  readonly parts: AdministrationParts
  readonly options: UserImportOptions
  readonly actor: Actor
  readonly counts: UserImportCounts
  readonly refuse: (line: number, error: unknown, id?: string) => void
  /** The issuer of a configured provider. */
  readonly issuerOf: (provider: string) => Promise<string>
}

/**
 * Creates accounts from a file of NDJSON as it arrives, in batches. A line is imported as a whole or refused, and one that is
 * refused keeps no other out. A line whose `_id` an account has already is left, so the same file can be sent again.
 *
 * Nobody is sent a message, and no event is published: these users were told by the system that they come from.
 *
 * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE for a file that cannot be read on; what is written until then stays
 */
export async function importUsers(
  parts: AdministrationParts,
  bytes: AsyncIterable<Buffer>,
  options: UserImportOptions,
  watch: UserImportWatch,
  actor: Actor,
): Promise<UserImportCounts> {
  const { db, clock, audit, record } = parts
  const counts = { created: 0, unchanged: 0, refused: 0 }
  const refuse: UserImport['refuse'] = (line, error, id) => {
    const passes: boolean = isPassing(error)
    if (!(error instanceof ApiError) || passes) throw error
    counts.refused++
    watch.refused({ line, ...(id !== undefined && { _id: id }), code: error.code, message: reasonOf(error) })
  }
  const issuers = new Map<string, Promise<string>>()
  const issuerOf = (provider: string): Promise<string> => {
    const issuer = issuers.get(provider) ?? parts.issuerOf(provider)
    issuers.set(provider, issuer)
    return issuer
  }
  const running: UserImport = { parts, options, actor, counts, refuse, issuerOf }
  // First, so that nobody is created without an entry.
  if (!options.dryRun) await db.batch([audit.entrySql(actor, { action: 'users.imported' })])
  const read = createUserReader()
  let batch: ImportedUser[] = []
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await writeBatch(running, batch)
    batch = []
  }
  for await (const { line, value } of jsonLinesIn(bytes, { lineMax: LINE_MAX, noun: 'user' })) {
    try {
      if (value instanceof ApiError) throw value
      const user = read(line, value, clock.now())
      if (user) {
        checkRole(running, user)
        if (batch.some(({ id }) => id === user.id)) await flush()
        batch.push(user)
      }
    } catch (error) {
      refuse(line, error, idIn(value))
    }
    if (batch.length === BATCH) await flush()
    watch.counted?.(1)
  }
  await flush()
  if (!options.dryRun)
    record('accounts-imported', { created: String(counts.created), by: actor.id ?? 'operator' })
  return counts
}

const idIn = (value: object): string | undefined =>
  '_id' in value && typeof value._id === 'string' ? value._id.slice(0, 64) : undefined

/** What is wrong with the first field, or the sentence of an error. */
function reasonOf({ message, details }: ApiError): string {
  const [issue] = (details?.['issues'] ?? []) as { path: string; message: string }[]
  return issue ? `${issue.path.replace(/^\/body\/?/, '') || 'the line'}: ${issue.message}` : message
}

/** @throws FORBIDDEN: a service key could otherwise give itself more rights */
function checkRole({ parts: { users }, options }: UserImport, user: ImportedUser): void {
  const isNamed = users.isNamedAdmin({ email_key: user.email.key })
  if (!options.mayGiveRoles && (user.role !== 'user' || isNamed))
    throw errors.forbidden({
      message:
        'A service key may not give a role: import this user as an administrator, or at the command line.',
    })
}

/** Writes users with different ids. */
async function writeBatch(running: UserImport, batch: readonly ImportedUser[]): Promise<void> {
  const { parts, counts, refuse } = running
  const isInBatch = isOneOf(
    'id',
    batch.map(({ id }) => id),
  )
  // Planned each time: the plan of an empty table reads all of it.
  const taken = await parts.db.all(
    sql.once(sql<{ id: string; is_key: number }>`
      select id, 0 as is_key from auth_users where ${isInBatch}
      union all select id, 1 as is_key from auth_service_keys where ${isInBatch}`),
  )
  const kinds = new Map(taken.map(({ id, is_key }) => [id, is_key]))
  const pending: [ImportedUser, readonly Step[]][] = []
  for (const user of batch) {
    try {
      if (kinds.get(user.id) === 0) counts.unchanged++
      else if (kinds.get(user.id) === 1) throw errors.conflict({ message: 'A service key has this _id.' })
      else pending.push([user, await stepsOf(running, user)])
    } catch (error) {
      refuse(user.line, error, user.id)
    }
  }
  if (
    await write(
      running,
      pending.map(([, steps]) => steps),
    ).catch(ifRefused)
  ) {
    counts.created += pending.length
    return
  }
  // One of them cannot be written, and the others can.
  for (const [user, steps] of pending) {
    try {
      await write(running, [steps])
      counts.created++
    } catch (error) {
      // Another import may have created it meanwhile.
      if (await parts.users.byId(user.id)) counts.unchanged++
      else refuse(user.line, error, user.id)
    }
  }
}

function ifRefused(error: unknown): false {
  if (error instanceof ApiError && error.status < 500) return false
  throw error
}

/** Writes all or none. */
async function write({ parts, options }: UserImport, accounts: readonly (readonly Step[])[]): Promise<true> {
  if (accounts.length === 0) return true
  const rolledBack = errors.conflict()
  const last = options.dryRun ? [requireRow(sql`select 1 as row where 1 = 0`, () => rolledBack)] : []
  try {
    await parts.db.batch([...accounts.flat(), ...last])
  } catch (error) {
    if (error !== rolledBack) throw error
  }
  return true
}

/** What belongs to a user, in one batch. */
async function stepsOf({ parts, actor, issuerOf }: UserImport, user: ImportedUser): Promise<readonly Step[]> {
  const { users, phones, totp, audit } = parts
  const { id, email, phone, role, totpSecret } = user
  const taken = () => authErrors.email_taken({ message: `${email.address} has an account already.` })
  const identities: Step[] = []
  for (const { issuer, provider, subject } of user.identities)
    identities.push(identitySql(parts, user, { issuer: issuer ?? (await issuerOf(provider!)), subject }))
  return [
    ...users.importSql({ ...user, hasFactor: totpSecret !== undefined }, taken),
    ...(phone === undefined ? [] : [phones.importSql(id, phone)]),
    ...(totpSecret === undefined ? [] : [totp.importSql(id, totpSecret)]),
    ...identities,
    ...(role === 'user'
      ? []
      : [
          audit.entrySql(actor, {
            action: 'user.created',
            target: userTarget(id),
            after: { email: email.address, role, emailVerified: user.isVerified, imported: true },
          }),
        ]),
  ]
}

/** As at a sign-in: one that did not verify the address loses its access when another verifies it. */
const identitySql = (
  { clock }: AdministrationParts,
  { id, isVerified }: ImportedUser,
  { issuer, subject }: { issuer: string; subject: string },
): Step =>
  requireRow(
    sql`insert into auth_identities (id, issuer, subject, user_id, credentials_version, created_at)
        values (${newId(clock.now())}, ${issuer}, ${subject}, ${id}, ${isVerified ? null : 1}, ${clock.now()})
        on conflict do nothing`,
    () => errors.conflict({ message: `Another account has the identity ${subject} of ${issuer}.` }),
  )
