// What imported hashes are computed with: Node's own crypto, in its threads.
import crypto, {
  createCipheriv,
  pbkdf2 as pbkdf2Of,
  scrypt as scryptOf,
  timingSafeEqual,
  type Argon2Algorithm,
} from 'node:crypto'
import { promisify } from 'node:util'

import { phcText, readPhc, type PhcHash } from './phc-string.ts'

type Algorithm = {
  /** How many parts follow the salt and the hash. */
  readonly others?: number
  /** The least and the most of each parameter; a hash has these and no others. */
  readonly parameters: Readonly<Record<string, readonly [min: number, max: number]>>
  /** What the parameters take together, by its name: no more than a limit. */
  readonly cost?: (parameters: PhcHash['parameters']) => readonly [what: string, value: number, max: number]
  /** The shortest salt, in bytes. */
  readonly saltMin?: number
  /** @returns as many bytes as the hash has */
  derive(password: Buffer, hash: PhcHash): Promise<Buffer>
}

const pbkdf2 = promisify(pbkdf2Of)
const scrypt = promisify<Buffer, Buffer, number, object, Buffer>(scryptOf)

const MIB = 1_048_576
/** Three hashes are computed at once. */
const MEMORY_MAX = 128 * MIB
/** Below it a hash that was cut off could be guessed. */
const HASH_MIN = 16
const HASH_MAX = 128

// Node has it since 24.7.
const hasArgon2 = 'argon2' in crypto

/** RFC 9106. About a second for what is allowed. */
const argon2Algorithm = (algorithm: Argon2Algorithm): Algorithm => ({
  // Version 1.3, which is 0x13: no other is computed.
  parameters: { v: [19, 19], m: [8, MEMORY_MAX / 1024], t: [1, 32], p: [1, 16] },
  cost: ({ m = 0, t = 0 }) => ['m·t', m * t, (6 * MEMORY_MAX) / 1024],
  saltMin: 8,
  derive: (message, { parameters: { m = 0, t = 0, p = 0 }, salt: nonce, hash: { length } }) =>
    promisify(crypto.argon2)(algorithm, {
      message,
      nonce,
      parallelism: p,
      tagLength: length,
      memory: m,
      passes: t,
    }),
})

/** RFC 7914: `ln` is the logarithm of N. */
async function scryptBytes(
  password: Buffer,
  salt: Buffer,
  { ln = 0, r = 0, p = 0 }: PhcHash['parameters'],
  length: number,
): Promise<Buffer> {
  // Node counts what is beside the largest part, too.
  return scrypt(password, salt, length, { N: 2 ** ln, r, p, maxmem: 2 * MEMORY_MAX })
}

const SCRYPT = {
  parameters: { ln: [1, 20], r: [1, 32], p: [1, 16] },
  cost: ({ ln = 0, r = 0, p = 0 }) => ['N·r·p', 2 ** ln * r * p, MEMORY_MAX / 128],
} as const satisfies Partial<Algorithm>

/** RFC 8018, section 5.2. */
const pbkdf2Algorithm = (digest: string): Algorithm => ({
  parameters: { i: [1, 5_000_000] },
  derive: (password, { parameters: { i = 0 }, salt, hash: { length } }) =>
    pbkdf2(password, salt, i, length, digest),
})

const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  argon2id: argon2Algorithm('argon2id'),
  argon2i: argon2Algorithm('argon2i'),
  scrypt: {
    ...SCRYPT,
    derive: (password, { parameters, salt, hash: { length } }) =>
      scryptBytes(password, salt, parameters, length),
  },
  // Firebase's: salt, hash, salt separator and signer key, in the order of Ory Kratos. https://github.com/firebase/scrypt
  firescrypt: {
    ...SCRYPT,
    others: 2,
    async derive(password, { parameters, salt, others: [separator, signerKey] }) {
      const key = await scryptBytes(password, Buffer.concat([salt, separator!]), parameters, 32)
      return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(signerKey!)
    },
  },
  'pbkdf2-sha1': pbkdf2Algorithm('sha1'),
  'pbkdf2-sha256': pbkdf2Algorithm('sha256'),
  'pbkdf2-sha512': pbkdf2Algorithm('sha512'),
}

/**
 * Checks that a hash can be computed, in a time and memory that a sign-in may take.
 *
 * @returns the hash as text, or what is wrong with it; undefined if its algorithm is not known
 */
export function checkPhc(phc: PhcHash): { text: string } | { fault: string } | undefined {
  const algorithm = Object.hasOwn(ALGORITHMS, phc.id) ? ALGORITHMS[phc.id] : undefined
  if (!algorithm) return undefined
  const fault = parameterFault(phc, algorithm) ?? lengthFault(phc, algorithm)
  return fault === undefined ? { text: phcText(phc) } : { fault: `${phc.id}: ${fault}` }
}

function parameterFault(
  { id, parameters }: PhcHash,
  { parameters: ranges, cost }: Algorithm,
): string | undefined {
  if (id.startsWith('argon2') && !hasArgon2) return 'this Node cannot compute it: run Node 24.7 or later'
  const names = Object.keys(ranges)
  if (
    names.length !== Object.keys(parameters).length ||
    !names.every((name) => Object.hasOwn(parameters, name))
  )
    return `it must have the parameters ${names.join(', ')}`
  for (const [name, [min, max]] of Object.entries(ranges)) {
    const value = parameters[name]!
    if (!Number.isInteger(value) || value < min || value > max)
      return `${name}=${value} must be a whole number from ${min} to ${max}`
  }
  const { m, p } = parameters
  if (m !== undefined && m < 8 * p!) return `m=${m} must be at least 8 times p` // RFC 9106, section 3.1
  const [what, value, max] = cost?.(parameters) ?? ['', 0, 0]
  return value > max ? `${what} is ${value}, and may be at most ${max}` : undefined
}

function lengthFault({ salt, hash, others }: PhcHash, algorithm: Algorithm): string | undefined {
  const { saltMin = 1, others: count = 0 } = algorithm
  if (salt.length < saltMin) return `its salt must have at least ${saltMin} bytes`
  if (hash.length < HASH_MIN || hash.length > HASH_MAX)
    return `the hash must have from ${HASH_MIN} to ${HASH_MAX} bytes`
  if (others.length !== count) return `it must have ${count + 2} parts after its parameters`
  // Firebase's hash is its key, encrypted.
  return count > 0 && others.at(-1)!.length !== hash.length
    ? 'the signer key must be as long as the hash'
    : undefined
}

/** Compares a password with a hash that `checkPhc` returned. */
export async function verifyPhc(password: string, text: string): Promise<boolean> {
  const phc = readPhc(text)!
  const derived = await ALGORITHMS[phc.id]!.derive(Buffer.from(password), phc)
  return timingSafeEqual(derived, phc.hash)
}
