import { errors } from '../../../../base/errors.ts'
import { requireRow } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { UserCaller } from '../../../../http/access.ts'
import { proveAssertion, requestOptions, type PasskeyProof } from './assertions.ts'
import type { PasskeyPurpose } from './passkey-challenges.ts'
import { passkeyOf, passkeysOf, type PasskeyParts, type PasskeyRow } from './passkey.ts'
import type {
  Passkey,
  PasskeyCreationOptions,
  PasskeyRegistration,
  PasskeyRequestOptions,
} from './passkey-schemas.ts'
import { createPasskey, creationOptions, type CreatedPasskey } from './registrations.ts'

export type { PasskeyProof, PasskeyPurpose, PasskeyRequestOptions }

/**
 * Passkeys: WebAuthn credentials that are discoverable, so that one can take the place of an address and a password. If none
 * can work at the server's address, everything that needs a browser throws PROVIDER_NOT_CONFIGURED with what to set.
 *
 * @see https://www.w3.org/TR/webauthn-3/
 */
export type Passkeys = {
  /** Whether they can work here. */
  readonly areOffered: boolean
  /**
   * Options for navigator.credentials.get, with a challenge for 5 minutes.
   *
   * @param userId only its passkeys (allowCredentials); `prove` then takes it too
   */
  requestOptions(purpose: PasskeyPurpose, userId?: string): Promise<PasskeyRequestOptions>
  /**
   * Verifies the answer of navigator.credentials.get.
   *
   * @param userId the account that it must belong to, as for `requestOptions`
   * @returns undefined if it is no passkey of this account, its origin, purpose, signature or counter is wrong, or its challenge
   *   was answered before
   */
  prove(credential: unknown, purpose: PasskeyPurpose, userId?: string): Promise<PasskeyProof | undefined>
  /**
   * Options for navigator.credentials.create, with a challenge for 5 minutes.
   *
   * @throws CONFLICT if the account has 20
   */
  creationOptions(userId: string): Promise<PasskeyCreationOptions>
  /**
   * Adds a passkey to the caller's account.
   *
   * @param options.name default: the kind of its authenticator, or the device of the user agent
   * @throws INVALID_PASSKEY; CONFLICT if it is registered already, or the account has 20
   */
  create(
    caller: UserCaller,
    registration: PasskeyRegistration,
    options: { name?: string | undefined; userAgent: string },
  ): Promise<CreatedPasskey>
  /** Lists the passkeys of an account, oldest first. */
  list(userId: string): Promise<Passkey[]>
  /** @throws NOT_FOUND */
  rename(userId: string, id: string, name: string): Promise<Passkey>
  /** @throws NOT_FOUND; CONFLICT if it is the last factor of an account that must have one */
  remove(caller: UserCaller, id: string): Promise<void>
  deleteExpired(): Promise<void>
}

export const createPasskeys = (parts: PasskeyParts): Passkeys => ({
  areOffered: parts.relyingParty !== undefined,
  requestOptions: (purpose, userId) => requestOptions(parts, purpose, userId),
  prove: (credential, purpose, userId) => proveAssertion(parts, credential, purpose, userId),
  creationOptions: (userId) => creationOptions(parts, userId),
  create: (caller, registration, options) => createPasskey(parts, caller, registration, options),
  list: async (userId) => (await passkeysOf(parts, userId)).map(passkeyOf),

  async rename(userId, id, name) {
    const [row] = await parts.db.write(sql<PasskeyRow>`
      update auth_passkeys set name = ${name.trim()} where id = ${id} and user_id = ${userId} returning *`)
    if (!row) throw notFound()
    return passkeyOf(row)
  },

  async remove(caller, id) {
    const { db, ownFactors } = parts
    const where = sql`where id = ${id} and user_id = ${caller.id}`
    const passkey = await db.get(sql<{ name: string }>`select name from auth_passkeys ${where}`)
    if (!passkey) throw notFound()
    const factor = { kind: 'passkey', name: `passkey “${passkey.name}”` } as const
    await ownFactors.remove(caller, factor, [requireRow(sql`delete from auth_passkeys ${where}`, notFound)])
  },

  deleteExpired: () => parts.challenges.deleteExpired(),
})

const notFound = () => errors.not_found({ message: 'You have no passkey with this id.' })
