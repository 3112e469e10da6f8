import { availableParallelism } from 'node:os'
import { invalid } from '../../../base/errors.ts'
import { onceResolved } from '../../../base/once.ts'
import { createSemaphore } from '../../../base/semaphore.ts'
import { StartError } from '../../../base/start-error.ts'
import { isCommonPassword, nameCheck } from './common-passwords.ts'
import { verifyPhc } from './imported-hashes/algorithms.ts'

/** bcrypt ignores all bytes after these. */
const BYTES_MAX = 72

// Normalising a run of combining marks takes quadratic time: 0.7 s for 40,000 of them. So text that is certainly too
// long is refused first: a character in NFKC comes from at most 4 code points (UAX #15), each of 2 code units at most.
const CODE_UNITS_MAX = BYTES_MAX * 4 * 2

/** One of libuv's four threads stays free for files and DNS. */
const CONCURRENCY_MAX = 3

/** At cost 12 a hash takes a quarter of a second, so the last in the queue waits about 16 s. */
const QUEUE_PER_SLOT = 64

// Machine code, loaded with the first password.
const loadBcrypt = onceResolved(() => import('@node-rs/bcrypt'))

/**
 * Loads what hashes passwords.
 *
 * @throws StartError if this platform's part of it is not installed
 */
export async function openPasswords(): Promise<void> {
  await loadBcrypt().catch((error: unknown) => {
    throw new StartError(
      'passwords: @node-rs/bcrypt has no machine code for this platform: install the packages on it, with their optional dependencies',
      { cause: error },
    )
  })
}

export type Passwords = {
  /**
   * Checks a new password (NIST SP 800-63B-4, section 3.1.1.2).
   *
   * @returns why it is refused: it is too short, too long, malformed, one of the commonest, or the service's name
   */
  fault(password: string): string | undefined

  /**
   * Checks a new password as `fault` does, and normalises it.
   *
   * @param at JSON pointer of the field in the error
   * @param email the account's address
   * @returns the password in Unicode's NFKC form
   * @throws VALIDATION_ERROR if it is too short, too long, malformed, one of the commonest, the service's name, or the
   *   address
   */
  check(password: string, at: string, email: string): string

  /**
   * Hashes a checked password with bcrypt, off the event loop.
   *
   * @throws UNAVAILABLE if too many passwords are waiting to be hashed
   */
  hash(password: string): Promise<string>

  /**
   * Compares a password with a hash, ours or an imported one. Takes the same time whether or not there is a hash, and whatever
   * the password is: a malformed one is a wrong one. A password shorter than the minimum is compared like any other, because it
   * may be older than the minimum.
   *
   * @param hash absent if there is no such account, or it has no password
   * @param decoy the hash of another account, whose time it takes then; default: one of ours
   * @throws UNAVAILABLE if too many passwords are waiting to be hashed
   */
  verify(password: string, hash: string | null | undefined, decoy?: string | null): Promise<boolean>

  /**
   * Whether the hash of this password is to be replaced: it is imported, or made at another cost than the configured one. Not if
   * bcrypt cannot hold the password, which another algorithm could.
   */
  needsRehash(password: string, hash: string): boolean
}

/**
 * The rules for passwords, and their hashes.
 *
 * @param options.cost bcrypt's cost, 4 to 31; each step doubles the time
 * @param options.minLength in code points
 * @param options.names of the service, which are no passwords
 * @param options.concurrency how many hashes are computed at the same time
 * @param options.queue how many more may wait
 */
export function createPasswords(options: {
  cost: number
  minLength: number
  names?: readonly string[]
  concurrency?: number
  queue?: number
}): Passwords {
  const { cost, minLength } = options
  const concurrency = options.concurrency ?? Math.min(availableParallelism(), CONCURRENCY_MAX)
  const queue = options.queue ?? concurrency * QUEUE_PER_SLOT
  const isServiceName = nameCheck(options.names ?? [])
  const slots = createSemaphore({ limit: concurrency, queue, retryAfter: 5 })
  // A salt and a digest of zeros, which no known password has. Comparing takes as long as with a real hash.
  const dummyHash = `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(22 + 31)}`

  function fault(password: string): string | undefined {
    const refusal = bcryptFault(password)
    if (refusal !== undefined) return refusal
    const normal = password.normalize('NFKC')
    if (Array.from(normal).length < minLength) return `Use at least ${minLength} characters.`
    if (isServiceName(normal))
      return 'This is the name of the service, which attackers try first: choose another password.'
    return isCommonPassword(normal)
      ? 'This is one of the commonest passwords, which attackers try first: choose another.'
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
      // The library would truncate it without an error.
      if (Buffer.byteLength(normal) > BYTES_MAX)
        throw new RangeError('bcrypt reads 72 bytes: call check() first')
      return slots.run(async () => (await loadBcrypt()).hash(normal, cost))
    },

    async verify(password, hash, decoy) {
      const stored = hash ?? decoy ?? dummyHash
      const comparable = isOwn(stored) ? normalOf(password) : typedOf(password)
      const compare = async (): Promise<boolean> =>
        isBcrypt(stored)
          ? (await loadBcrypt()).verify(comparable ?? '', stored)
          : verifyPhc(comparable ?? '', stored)
      const matches = await slots.run(compare)
      return matches && comparable !== undefined && typeof hash === 'string'
    },

    needsRehash: (password, hash) =>
      !hash.startsWith(`${OWN}${String(cost).padStart(2, '0')}$`) && bcryptFault(password) === undefined,
  }
}

// Imported hashes of bcrypt have another version: see `readHash`.
const OWN = '$2b$'
const isOwn = (hash: string): boolean => hash.startsWith(OWN)
const isBcrypt = (hash: string): boolean => hash.startsWith('$2')

/** What our hashes are made of; undefined if it has none. */
const normalOf = (password: string): string | undefined =>
  bcryptFault(password) === undefined ? password.normalize('NFKC') : undefined

/** What hashes of other systems are made of; undefined if it has none. */
const typedOf = (password: string): string | undefined =>
  password.isWellFormed() && !password.includes('\0') ? password : undefined

/**
 * Why an account with this address may not have this password: it is the address, or the part before its @, with or
 * without surrounding white space.
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

/** Why bcrypt cannot distinguish this password from every other. */
function bcryptFault(password: string): string | undefined {
  if (!password.isWellFormed()) return 'This contains half of a surrogate pair: send whole characters.'
  if (password.includes('\0')) return 'This contains the character U+0000: leave it out.'
  if (password.length > CODE_UNITS_MAX || Buffer.byteLength(password.normalize('NFKC')) > BYTES_MAX)
    return `Use at most ${BYTES_MAX} bytes: a letter from a to z has 1, one with an accent 2, most others 3, an emoji 4. Make it shorter, for example with fewer words.`
  return undefined
}
