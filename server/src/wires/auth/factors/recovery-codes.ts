import { randomBytes, scrypt } from 'node:crypto'

import type { Clock } from '../../../base/clock.ts'
import { asciiDigits } from '../../../base/decimal-digits.ts'
import { createSemaphore, type Semaphore } from '../../../base/semaphore.ts'
import { requireRow, type Database, type Step } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { AccountMails } from '../messages/account-mails.ts'
import { authErrors } from '../errors.ts'
import type { FactorProof } from './factor.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const CODES = 10

/** 5 random bits each, 65 in all (ASVS 5.0, 6.5.2: at least 20, and below 112 a hash of passwords with a salt). */
const CHARACTERS = 13

/** Crockford's base 32: no i, l, o and u. https://www.crockford.com/base32.html */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** As a code is shown: xxx-xxx-xxx-xxxx. */
const GROUPS = /^(...)(...)(...)(....)$/

// N = 2^14 takes 38 to 50 ms and 16 MiB. OWASP recommends more for passwords, which people choose; these are random.
const COST_MAX = 14
const BLOCK_SIZE = 8
const HASH_BYTES = 32
const SALT_BYTES = 16

/** Of libuv's four threads, which passwords, files and DNS use too. */
const CONCURRENCY = 2
/** The last in the queue waits about 5 s. */
const QUEUE_MAX = 200

/** Codes that prove a second factor if the account's others are lost: stored as hashes, each for one use. */
export type RecoveryCodes = {
  /**
   * Checks a code: upper or lower case, with or without dashes and spaces, o for 0, i or l for 1.
   *
   * @returns undefined if the account has no such code, or it was used
   * @throws UNAVAILABLE if too many codes are waiting to be checked
   */
  prove(userId: string, code: string): Promise<FactorProof<'recovery-code'> | undefined>
  /**
   * Makes ten codes in place of all others, those that were used included.
   *
   * @returns the codes, to be shown once, and the steps that store them, for a batch that has locked the account's row
   *   (`users.factorSql`)
   * @throws UNAVAILABLE as `prove` does
   */
  replace(userId: string): Promise<{ codes: string[]; steps: readonly Step[] }>
}

/** @param options.bcryptCost of passwords: below 12 codes are hashed at a lower cost too, for development and tests */
export function createRecoveryCodes(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { mails }: { mails: AccountMails },
  options: { bcryptCost: number },
): RecoveryCodes {
  const slots = createSemaphore({ limit: CONCURRENCY, queue: QUEUE_MAX, retryAfter: 5 })
  const cost = Math.min(COST_MAX, options.bcryptCost + 2)
  return {
    prove: (userId, code) => proveCode({ db, clock, mails, slots }, userId, code),
    replace: (userId) => replaceCodes(slots, userId, cost),
  }
}

async function proveCode(
  { db, clock, mails, slots }: { db: Database; clock: Clock; mails: AccountMails; slots: Semaphore },
  userId: string,
  code: string,
): Promise<FactorProof<'recovery-code'> | undefined> {
  const normal = normalCode(code)
  if (normal === undefined) return undefined
  const stored = await db.get(sql<{ salt: string }>`
    select salt from auth_recovery_codes where user_id = ${userId} limit 1`)
  if (!stored) return undefined
  const hash = await hashOf(slots, normal, stored.salt)
  const matchingCode = await db.get(sql<{ others: number }>`
    select (select count(*) from auth_recovery_codes where user_id = ${userId} and used_at is null) - 1 as others
    from auth_recovery_codes where user_id = ${userId} and hash = ${hash} and used_at is null`)
  if (!matchingCode) return undefined
  return {
    kind: 'recovery-code',
    useSql: [
      requireRow(
        sql`update auth_recovery_codes set used_at = ${clock.now()}
            where user_id = ${userId} and hash = ${hash} and used_at is null`,
        () => authErrors.invalid_code(),
      ),
      ...mails.notice(userId, 'recovery-code-used', { left: String(matchingCode.others) }),
    ],
  }
}

async function replaceCodes(
  slots: Semaphore,
  userId: string,
  cost: number,
): Promise<{ codes: string[]; steps: readonly Step[] }> {
  const salt = `${cost}$${randomBytes(SALT_BYTES).toString('base64url')}`
  const codes = Array.from({ length: CODES }, newCode)
  const hashes = await Promise.all(codes.map((code) => hashOf(slots, code, salt)))
  const rows = hashes.map((hash) => sql`(${userId}, ${salt}, ${hash})`)
  return {
    codes: codes.map((code) => code.replace(GROUPS, '$1-$2-$3-$4')),
    steps: [
      sql`delete from auth_recovery_codes where user_id = ${userId}`,
      sql`insert into auth_recovery_codes (user_id, salt, hash) values ${sql.join(rows)}`,
    ],
  }
}

/** The alphabet has 32 characters: five bits of each byte choose one, and all are equally likely. */
const newCode = (): string => Array.from(randomBytes(CHARACTERS), (byte) => ALPHABET[byte & 31]).join('')

/** A code as it was made; undefined if it can be none. */
function normalCode(code: string): string | undefined {
  const normal = asciiDigits(code.normalize('NFKC'))
    .replace(/[-\s]/g, '')
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')
  return /^[0-9a-hjkmnp-tv-z]{13}$/.test(normal) ? normal : undefined
}

/**
 * scrypt (RFC 7914).
 *
 * @param salt the cost, as the exponent of N, before the salt proper: `14$...`
 * @returns base64url
 */
function hashOf(slots: Semaphore, code: string, salt: string): Promise<string> {
  const N = 2 ** Number.parseInt(salt, 10)
  return slots.run(
    () =>
      new Promise((resolve, reject) => {
        scrypt(code, salt, HASH_BYTES, { N, r: BLOCK_SIZE, p: 1 }, (error, key) => {
          if (error) reject(error)
          else resolve(key.toString('base64url'))
        })
      }),
  )
}
