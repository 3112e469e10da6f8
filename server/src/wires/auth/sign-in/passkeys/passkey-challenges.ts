import { randomBytes } from 'node:crypto'

import { deriveKey, isSameSecret, sha256 } from '../../../../base/crypto.ts'
import type { ApiError } from '../../../../base/errors.ts'
import { requireRow, type StepWith } from '../../../../db/database.ts'
import { sql } from '../../../../db/sql.ts'
import type { WireContext } from '../../../../kernel/wire/wire.ts'

/** What an assertion proves: the sign-in, the second factor of a challenge by its id, or the user of a session by its id. */
export type PasskeyPurpose = 'sign-in' | `second-factor:${string}` | `confirm:${string}`

const LIFETIME_MS = 300_000
const TIME_BYTES = 6
const HEAD_BYTES = TIME_BYTES + 16

/**
 * The challenges of WebAuthn (https://www.w3.org/TR/webauthn-3/#sctn-cryptographic-challenges): when it expires, 16 random
 * bytes, and a MAC of them, the purpose and the account. A page asks for one when it loads, so only an answer takes a row.
 */
export type PasskeyChallenges = {
  /**
   * Makes a challenge for 5 minutes.
   *
   * @param userId the only account that may answer it
   * @returns base64url
   */
  challenge(purpose: PasskeyPurpose | 'registration', userId?: string): string
  /** Whether it was made for this purpose and account, and has not expired. */
  isCurrent(challenge: string, purpose: PasskeyPurpose | 'registration', userId?: string): boolean
  /** Records the answer, in the batch of what it permits: fails if there is one. */
  answerSql(challenge: string, otherwise: () => ApiError): StepWith
  deleteExpired(): Promise<void>
}

/** How answers are found. */
export const challengeHash = (challenge: string): string => sha256(challenge)

/** @param secret `SIXWIRE_SECRET`: a new one ends the ceremonies that are under way, and nothing else */
export function createPasskeyChallenges(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { secret }: { secret: string },
): PasskeyChallenges {
  const key = deriveKey(secret, 'passkey-challenge')

  const sealed = (head: Buffer, purpose: string, userId: string | undefined): string => {
    const mac = key.mac(JSON.stringify([purpose, userId ?? null, head.toString('base64url')]))
    return Buffer.concat([head, Buffer.from(mac, 'base64url')]).toString('base64url')
  }

  const headOf = (challenge: string): Buffer => Buffer.from(challenge, 'base64url').subarray(0, HEAD_BYTES)
  const expiryOf = (head: Buffer): number => head.readUIntBE(0, TIME_BYTES)

  return {
    challenge(purpose, userId) {
      const head = randomBytes(HEAD_BYTES)
      head.writeUIntBE(clock.now() + LIFETIME_MS, 0, TIME_BYTES)
      return sealed(head, purpose, userId)
    },

    isCurrent(challenge, purpose, userId) {
      const head = headOf(challenge)
      return (
        head.length === HEAD_BYTES &&
        isSameSecret(challenge, sealed(head, purpose, userId)) &&
        expiryOf(head) > clock.now()
      )
    },

    answerSql: (challenge, otherwise) =>
      requireRow(
        sql`insert into auth_passkey_answers (challenge_hash, expires_at)
            values (${challengeHash(challenge)}, ${expiryOf(headOf(challenge))}) on conflict do nothing`,
        otherwise,
      ),

    async deleteExpired() {
      // Later than they expire: the clock of another server may be behind, and an answer may be on its way.
      await db.write(sql`delete from auth_passkey_answers where expires_at <= ${clock.now() - LIFETIME_MS}`)
    },
  }
}
