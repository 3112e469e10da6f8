import type { Clock } from '../../base/clock.ts'
import { errors, invalid } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { requireRow, type Database } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { UserCaller } from '../../http/access.ts'
import { authErrors } from './errors.ts'
import type { Lock } from './passwords/lock.ts'
import type { Passwords } from './passwords/passwords.ts'
import type { UserRow, Users } from './users.ts'

const METADATA_BYTES_MAX = 16_384

/** What users do with their own account, beyond its credentials. */
export type OwnAccount = {
  /**
   * Changes what is given and leaves the rest.
   *
   * @param change.name null, or nothing but blanks, removes it
   * @param change.metadata its fields replace those of the same name, and null removes one, at the top level only
   *   (RFC 7396 says the same, but of every level)
   * @throws VALIDATION_ERROR where the metadata would be larger than 16 KiB as JSON
   */
  change(
    caller: UserCaller,
    change: { name?: string | null | undefined; metadata?: Record<string, unknown> | undefined },
  ): Promise<UserRow>
  /**
   * Removes the account, its sessions and every token that was sent to its address. What other wires keep of the
   * user stays there, under an id that nobody has any more.
   *
   * @throws VALIDATION_ERROR, INVALID_CREDENTIALS and ACCOUNT_LOCKED where the account has a password and this is not it
   */
  remove(caller: UserCaller, password: string | undefined): Promise<void>
}

export function createOwnAccount(
  db: Database,
  clock: Clock,
  { users, lock, passwords }: { users: Users; lock: Lock; passwords: Passwords },
): OwnAccount {
  return {
    change: ({ id }, { name, metadata }) =>
      db.transaction(async (tx) => {
        const user = await tx.get<UserRow>(sql`select * from auth_users where id = ${id}`)
        if (!user) throw errors.unauthorized()
        const kept = metadata ? merged(user.metadata, metadata) : user.metadata
        const named = name === undefined ? user.name : name?.trim() || null
        const [changed] = await tx.write<UserRow>(sql`
          update auth_users set name = ${named}, metadata = ${kept}, updated_at = ${clock.now()}
          where id = ${id} returning *`)
        return changed!
      }),

    async remove({ id }, password) {
      const user = await users.byId(id)
      if (!user) throw errors.unauthorized()
      if (user.password_hash !== null) {
        if (password === undefined) throw invalid({ path: '/body/password', message: 'is required' })
        const isRight = await lock.attempt(user.email_key, async () =>
          (await passwords.verify(password, user.password_hash)) ? true : undefined,
        )
        if (!isRight) throw authErrors.invalid_credentials({ message: 'The password is wrong.' })
      }
      await db.batch([
        sql`delete from auth_mail_tokens where email_key = ${user.email_key}`,
        // Where the password has changed since it was looked at, another one is needed.
        requireRow(
          sql`delete from auth_users where id = ${id} and credentials_version = ${user.credentials_version}`,
          () => errors.unauthorized(),
        ),
      ])
    },
  }
}

/** @returns JSON text */
function merged(text: string, given: Record<string, unknown>): string {
  const all = { ...(parseJson(text) as Record<string, unknown>), ...given }
  const json = JSON.stringify(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)))
  if (Buffer.byteLength(json) > METADATA_BYTES_MAX)
    throw invalid({
      path: '/body/metadata',
      message: `All metadata together may have ${METADATA_BYTES_MAX} bytes as JSON: keep more in the store.`,
    })
  return json
}
