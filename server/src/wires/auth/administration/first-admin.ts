import { randomToken, sha256 } from '../../../base/crypto.ts'
import { parseAddress } from '../../../base/email-address.ts'
import { errors } from '../../../base/errors.ts'
import { newId } from '../../../base/ids.ts'
import { requireRow } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { Actor } from '../../../http/actor.ts'
import { authErrors } from '../errors.ts'
import type { UserRow } from '../accounts/user.ts'
import { requireAccount, userTarget, type AdministrationParts } from './account.ts'

const LIFETIME_MS = 3_600_000

/** How a server gets its first administrator. */
export type FirstAdmin = {
  /**
   * Makes a token that creates the first administrator, once and within an hour; undefined if there is one, or if
   * `SIXWIRE_ADMINS` names one. Tokens of other processes stay valid until one of them is used.
   */
  issueToken(): Promise<string | undefined>
  /**
   * Creates the first administrator, with a verified address.
   *
   * @throws INVALID_TOKEN also if there is an administrator by now, VALIDATION_ERROR, EMAIL_TAKEN
   */
  create(
    account: { token: string; email: string; password: string; name?: string | undefined },
    actor: Actor,
  ): Promise<UserRow>
  /** Whether the next account that registers becomes the administrator: there is none, and the server is not in production. */
  isFirstRun(): Promise<boolean>
}

/** @param options.firstIsAdmin whether the first account that registers becomes an administrator */
export function createFirstAdmin(
  context: AdministrationParts,
  options: { firstIsAdmin: boolean; hasNamedAdmins: boolean },
): FirstAdmin {
  const { db, clock, users } = context
  return {
    async issueToken() {
      if (options.hasNamedAdmins) return undefined
      const token = randomToken()
      const [issued] = await db.batch([
        sql`insert into auth_first_admin_links (hash, expires_at)
            select ${sha256(token)}, ${clock.now() + LIFETIME_MS}
            where not exists (select 1 from auth_users where ${users.isAdminSql()})
            returning hash`,
        sql`delete from auth_first_admin_links where expires_at <= ${clock.now()}`,
      ])
      return issued.length === 0 ? undefined : token
    },

    create: (account, actor) => createFirst(context, account, actor),

    async isFirstRun() {
      if (!options.firstIsAdmin) return false
      const first = await db.get(sql`select 1 as found from auth_users limit 1`)
      return first === undefined
    },
  }
}

async function createFirst(
  parts: AdministrationParts,
  {
    token,
    email,
    password,
    name,
  }: { token: string; email: string; password: string; name?: string | undefined },
  actor: Actor,
): Promise<UserRow> {
  const { db, clock, users, passwords, audit, record } = parts
  const now = clock.now()
  const invalid = () =>
    authErrors.invalid_token({
      message: 'This link is not valid, was used, or has expired: restart the server for another one.',
    })
  const validSql = sql`select 1 as found from auth_first_admin_links where hash = ${sha256(token)} and expires_at > ${now}`
  // Before the work of a hash.
  if (!(await db.get(validSql))) throw invalid()
  const address = parseAddress(email, '/body/email')
  const passwordHash = await passwords.hash(passwords.check(password, '/body/password', address.address))
  const id = newId(now)
  const user = { id, email: address, name: name?.trim() || null, passwordHash, isVerified: true }
  const emailTaken = () =>
    authErrors.email_taken({
      message: `${address.address} has an account already: make it an administrator with sixwire user promote.`,
    })
  await db.batch([
    // All links go with the first one that is used: another request waits for this row, and finds none.
    requireRow(
      sql`delete from auth_first_admin_links
          where exists (${validSql})
            and not exists (select 1 from auth_users where ${users.isAdminSql()})
          returning hash`,
      invalid,
    ),
    users.insertSql(user, emailTaken),
    users.updateSql({ id }, { role: 'admin' }, () => errors.conflict()),
    audit.entrySql(actor, {
      action: 'user.created',
      target: userTarget(id),
      after: { email: address.address, role: 'admin', emailVerified: true },
      reason: 'The link for the first administrator.',
    }),
  ])
  record('account-created', { account: id, role: 'admin' })
  return requireAccount(parts, { id })
}

/** Writes the link to the log of a server in production that has no administrator. */
export async function showFirstAdminLink(
  { log, settings, siblings }: Pick<WireContext, 'log' | 'settings' | 'siblings'>,
  firstAdmin: FirstAdmin,
): Promise<void> {
  if (!settings.production || !siblings.isFirst) return
  const token = await firstAdmin.issueToken()
  if (token === undefined) return
  const how = settings.console
    ? `open ${settings.publicUrl}/console#/first-admin?token=${token}`
    : `send POST ${settings.publicUrl}/auth/first-admin {"token":"${token}","email":…,"password":…}`
  log.warn(
    `There is no administrator. To create the first one, once and within an hour: ${how} (or sixwire user promote EMAIL)`,
  )
}
