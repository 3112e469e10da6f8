import { errors } from '../../../../base/errors.ts'
import { requireRow, type Database, type Step } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { UserCaller } from '../../../../http/access.ts'
import type { CallOrigin } from '../../../../http/event-log.ts'
import type { Clock } from '../../../../base/clock.ts'
import { authErrors } from '../../errors.ts'
import type { PasskeyRequestOptions } from '../passkeys/passkey-schemas.ts'
import type { PasswordLogin } from '../password-login.ts'
import type { Users } from '../../accounts/users.ts'
import { verifyFactor, type FactorInput, type FactorVerifiers } from './verify-factor.ts'

/** What a user sends again before a sensitive call: exactly one of them. */
export type ConfirmationInput = Omit<FactorInput, 'deviceToken'> & { password?: string | undefined }

/** Proofs within a session, for what a stolen token must not do. Each counts for 10 minutes: see `route({ proof })`. */
export type Confirmation = {
  /**
   * Records that the user of a session has just proven who they are: by the password, or by a second factor.
   *
   * @throws INVALID_CREDENTIALS, INVALID_CODE, INVALID_PASSKEY, ACCOUNT_LOCKED
   */
  confirm(caller: UserCaller, input: ConfirmationInput, origin: CallOrigin): Promise<void>
  /** What a browser needs to ask for one of the caller's passkeys. */
  passkeyOptions(caller: UserCaller): Promise<PasskeyRequestOptions>
}

type Parts = {
  db: Database
  clock: Clock
  users: Users
  passwordLogin: PasswordLogin
  verifiers: FactorVerifiers
}

export const createConfirmation = (parts: Parts): Confirmation => ({
  // Each by its name: a body may have other fields, and a trusted device proves nothing here.
  async confirm(caller, { password, code, recoveryCode, passkey }, origin) {
    const { users, passwordLogin, verifiers } = parts
    if (password !== undefined) {
      const user = await passwordLogin.verifyCredentials(caller.email, password, origin)
      if (user?.id !== caller.id) throw authErrors.invalid_credentials({ message: 'The password is wrong.' })
      await store(parts, caller, { isFactor: false, useSql: [] })
    } else {
      const user = await users.byId(caller.id)
      if (!user) throw errors.unauthorized()
      const purpose = `confirm:${caller.sessionId}` as const
      const input = { code, recoveryCode, passkey }
      const { useSql } = await verifyFactor(verifiers, user, input, { purpose, origin })
      await store(parts, caller, { isFactor: true, useSql })
    }
    origin.record('confirmed', { account: caller.id, session: caller.sessionId })
  },

  passkeyOptions: ({ id, sessionId }) => parts.verifiers.passkeys.requestOptions(`confirm:${sessionId}`, id),
})

/** The account's row is locked first, as by every change of factors, so that no two batches deadlock. */
async function store(
  { db, clock }: Parts,
  { id, sessionId }: UserCaller,
  { isFactor, useSql }: { isFactor: boolean; useSql: readonly Step[] },
): Promise<void> {
  const now = clock.now()
  const unauthorized = () => errors.unauthorized()
  await db.batch([
    requireRow(
      sql`select id from auth_users where id = ${id} and disabled_at is null ${sql.sharedLock}`,
      unauthorized,
    ),
    requireRow(
      sql`update auth_sessions set proven_at = ${now}
            ${isFactor ? sql`, factor_proven_at = ${now}` : sql.literal('')}
          where id = ${sessionId} and user_id = ${id}`,
      unauthorized,
    ),
    useSql,
  ])
}
