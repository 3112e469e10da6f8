import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import bcrypt from '@node-rs/bcrypt'
import { invalid } from '../../../base/errors.ts'
import { createSemaphore } from '../../../base/semaphore.ts'

/** bcrypt takes no notice of what comes after these. */
const BYTES_MAX = 72

// Normalising takes time quadratic in a run of combining marks: 0.7 s for 40,000 of them. So what can't fit goes
// first: no character of an NFKC form is made of more than 4 code points (UAX #15), each of 2 code units at most.
const CODE_UNITS_MAX = BYTES_MAX * 4 * 2

const COMMON_PASSWORDS = 10_000

/** One of libuv's four threads stays free for files and name look-ups. */
const CONCURRENCY_MAX = 3

/** At cost 12 a hash takes a quarter of a second, so the last in the queue waits about 16 s. */
const QUEUE_PER_SLOT = 64

export type Passwords = {
  /**
   * Checks a password that somebody wants to have from now on (NIST SP 800-63B-4, section 3.1.1.2).
   *
   * @returns why it is refused: it is too short, too long, broken, or one of the commonest
   */
  fault(password: string): string | undefined

  /**
   * Checks a password as `fault` does.
   *
   * @param at JSON pointer of the field, for the error
   * @param email the account's address
   * @returns the password in Unicode's NFKC form
   * @throws VALIDATION_ERROR if it is too short, too long, broken, one of the commonest, or the address
   */
  check(password: string, at: string, email: string): string

  /**
   * Hashes a checked password with bcrypt, off the event loop.
   *
   * @throws UNAVAILABLE where too many wait for their hash already
   */
  hash(password: string): Promise<string>

  /**
   * Is this the password? Takes the same time whether or not there is a hash, and whatever the password is:
   * one that nobody can have is a wrong one. A password shorter than the minimum is compared like any other,
   * because it may be older than the minimum.
   *
   * @param hash nothing where there is no such account, or where it has no password
   * @throws UNAVAILABLE where too many wait for their hash already
   */
  verify(password: string, hash: string | null | undefined): Promise<boolean>

  /** Was this hash, which a password was just verified with, made at another cost than is set now? */
  needsRehash(hash: string): boolean
}

/**
 * The rules for passwords, and their hashes.
 *
 * @param options.cost bcrypt's cost, 4 to 31; each step doubles the time
 * @param options.minLength in code points
 * @param options.concurrency how many hashes are computed at once
 * @param options.queue how many more may wait
 */
export function createPasswords(options: {
  cost: number
  minLength: number
  concurrency?: number
  queue?: number
}): Passwords {
  const { cost, minLength } = options
  const concurrency = options.concurrency ?? Math.min(availableParallelism(), CONCURRENCY_MAX)
  const queue = options.queue ?? concurrency * QUEUE_PER_SLOT
  const slots = createSemaphore({ limit: concurrency, queue, retryAfter: 5 })
  // A salt and a digest of nothing but zeros, which no known password has. Comparing costs what it costs with a real hash.
  const dummyHash = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(22 + 31)}`
  let common: Set<string> | undefined

  function fault(password: string): string | undefined {
    const broken = bcryptFault(password)
    if (broken !== undefined) return broken
    const normal = password.normalize('NFKC')
    if (Array.from(normal).length < minLength) return `Use at least ${minLength} characters.`
    common ??= loadCommonPasswords()
    return common.has(normal.toLowerCase())
      ? 'This is one of the 10,000 commonest passwords, which attackers try first: choose another.'
      : undefined
  }

  return {
    fault,

    check(password, at, email) {
      const message = fault(password) ?? ownAddressFault(password, email)
      if (message !== undefined) throw invalid({ path: at, message })
      return password.normalize('NFKC')
    },

    async hash(password) {
      const normal = password.normalize('NFKC')
      // The library would cut it in silence.
      if (Buffer.byteLength(normal) > BYTES_MAX)
        throw new RangeError('bcrypt reads 72 bytes: check the password first')
      return slots.run(() => bcrypt.hash(normal, cost))
    },

    async verify(password, hash) {
      const possible = bcryptFault(password) === undefined
      const normal = possible ? password.normalize('NFKC') : ''
      const matches = await slots.run(() => bcrypt.verify(normal, hash ?? dummyHash))
      return matches && possible
    },

    // The cost stands behind the version: $2b$12$…
    needsRehash: (hash) => Number(hash.split('$')[2]) !== cost,
  }
}

/**
 * Why a password may not be that of the account with this address: it is the address, or the part before its @,
 * whatever white space is around it.
 */
export function ownAddressFault(password: string, email: string): string | undefined {
  if (password.length > CODE_UNITS_MAX || email.length > CODE_UNITS_MAX) return undefined
  const [folded, address] = [password, email].map((text) => text.normalize('NFKC').trim().toLowerCase()) as [
    string,
    string,
  ]
  return folded === address || folded === address.slice(0, address.lastIndexOf('@'))
    ? 'This is your own email address, or the part before its @, which attackers try first: choose another.'
    : undefined
}

/** Why bcrypt could not tell this password from every other. */
function bcryptFault(password: string): string | undefined {
  if (!password.isWellFormed()) return 'This holds half of a surrogate pair: send whole characters.'
  if (password.includes('\0')) return 'This holds the character U+0000: leave it out.'
  if (password.length > CODE_UNITS_MAX || Buffer.byteLength(password.normalize('NFKC')) > BYTES_MAX) {
    return `Use at most ${BYTES_MAX} bytes in UTF-8: bcrypt ignores what comes after them.`
  }
  return undefined
}

/**
 * The commonest passwords, from the frequency list that zxcvbn uses. The list is in lower case: whoever counted
 * took Password and password for one, so a whole password is compared without regard to case.
 * Only the list is read, nothing of the package runs.
 */
function loadCommonPasswords(): Set<string> {
  const file = new URL(import.meta.resolve('@zxcvbn-ts/language-common/src/passwords.json'))
  const commonestFirst = JSON.parse(readFileSync(file, 'utf8')) as string[]
  return new Set(commonestFirst.slice(0, COMMON_PASSWORDS))
}
