import { errors as joseErrors, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'

import type { Clock } from '../../../base/clock.ts'
import { deriveKey, randomToken } from '../../../base/crypto.ts'
import type { Database } from '../../../db/database.ts'
import { StartError } from '../../../base/start-error.ts'
import { sql } from '../../../db/sql.ts'

// A key is published so long before it signs, and every replica reads the keys again well within that time.
const PUBLISHED_AHEAD_MS = 3_600_000
const READ_AGAIN_MS = 60_000
// What an unknown key can make a replica read, however many there come.
const UNKNOWN_READ_MS = 10_000
// Replicas' clocks differ, and a replica may sign with the key that it read last.
const LEEWAY_MS = 3_600_000

/** Algorithm of every access token: Ed25519, RFC 8037. */
export const ALGORITHM = 'EdDSA'

/** A public key as `/.well-known/jwks.json` shows it (RFC 7517, RFC 8037). */
export type PublicJwk = { kty: string; crv: string; x: string; kid: string; use: string; alg: string }

export type SigningKeys = {
  /** Makes sure that there is a key that signs. Throws StartError where `SIXWIRE_SECRET` is not the one that sealed it. */
  start(): Promise<void>
  /** The key that signs now. */
  signer(): Promise<{ kid: string; privateKey: CryptoKey }>
  /** The public key of this name. Throws `JWKSNoMatchingKey` where there is none. */
  verifier(kid: string | undefined): Promise<CryptoKey>
  /** Every key that signs, will sign next, or signed a token that may still live. */
  published(): Promise<PublicJwk[]>
  /** Rejects where the keys can't be read, or none may sign. */
  check(): Promise<void>
  /** Adds the next key when it is time, and removes those that nobody needs any more. */
  rotate(): Promise<void>
}

type Row = { number: number; kid: string; public_jwk: string; private_jwk: string; signs_from: number }
type Key = Row & { publicKey: CryptoKey; jwk: PublicJwk; privateKey?: CryptoKey }

/**
 * The keys of access tokens, in the database for all replicas.
 *
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.rotationMs how long a key signs
 * @param options.tokenMs how long a token lives
 */
export function createSigningKeys(
  db: Database,
  clock: Clock,
  options: { secret: string; rotationMs: number; tokenMs: number },
): SigningKeys {
  const { rotationMs, tokenMs } = options
  const seal = deriveKey(options.secret, 'signing-key')
  let known = new Map<string, Key>()
  let readAt = -Infinity
  let reading: Promise<void> | undefined

  async function readKeys(): Promise<void> {
    const rows = await db.all<Row>(
      sql`select number, kid, public_jwk, private_jwk, signs_from from auth_signing_keys order by number`,
    )
    const keys = new Map<string, Key>()
    for (const row of rows) {
      const jwk = JSON.parse(row.public_jwk) as PublicJwk
      keys.set(row.kid, known.get(row.kid) ?? { ...row, jwk, publicKey: await importKey(jwk) })
    }
    known = keys
    readAt = clock.now()
  }

  /** Reads the keys where what is known is older than this; at most one reading at a time. */
  async function atMostOld(ms: number): Promise<void> {
    if (clock.now() - readAt < ms) return
    reading ??= readKeys().finally(() => (reading = undefined))
    await reading
  }

  async function privateKeyOf(key: Key): Promise<CryptoKey> {
    key.privateKey ??= await importKey(JSON.parse(seal.open(key.private_jwk)) as JWK)
    return key.privateKey
  }

  function signing(): Key {
    const now = clock.now()
    const key = [...known.values()].findLast(({ signs_from }) => signs_from <= now)
    if (!key) throw new Error('auth_signing_keys has no key that may sign now')
    return key
  }

  async function add(number: number, signsFrom: number): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
    const kid = randomToken().slice(0, 16)
    const jwk = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: ALGORITHM }
    await db.write(sql`
      insert into auth_signing_keys (number, kid, public_jwk, private_jwk, signs_from)
      values (${number}, ${kid}, ${JSON.stringify(jwk)}, ${seal.seal(JSON.stringify(await exportJWK(privateKey)))}, ${signsFrom})
      on conflict (number) do nothing`)
  }

  async function rotate(): Promise<void> {
    const now = clock.now()
    const newest = await db.get<Pick<Row, 'number' | 'signs_from'>>(
      sql`select number, signs_from from auth_signing_keys order by number desc limit 1`,
    )
    if (!newest) await add(1, now)
    else if (newest.signs_from + rotationMs - PUBLISHED_AHEAD_MS <= now)
      await add(newest.number + 1, Math.max(newest.signs_from + rotationMs, now + PUBLISHED_AHEAD_MS))
    // A key's last token has expired once its successor has signed for longer than a token lives.
    await db.write(sql`
      delete from auth_signing_keys where number <
        (select max(number) from auth_signing_keys where signs_from <= ${now - tokenMs - LEEWAY_MS})`)
  }

  return {
    rotate,

    async start() {
      await readKeys()
      try {
        for (const key of known.values()) await privateKeyOf(key)
      } catch {
        throw new StartError(
          'SIXWIRE_SECRET: the signing keys in this database were sealed with another secret: put that one back. ' +
            'If it is lost, empty the table auth_signing_keys; clients then refresh their tokens or sign in again',
        )
      }
      await rotate()
      await readKeys()
    },

    async signer() {
      await atMostOld(READ_AGAIN_MS)
      const key = signing()
      return { kid: key.kid, privateKey: await privateKeyOf(key) }
    },

    async verifier(kid) {
      if (kid === undefined) throw new joseErrors.JWKSNoMatchingKey()
      if (!known.has(kid)) await atMostOld(UNKNOWN_READ_MS)
      const key = known.get(kid)
      if (!key) throw new joseErrors.JWKSNoMatchingKey()
      return key.publicKey
    },

    async check() {
      await readKeys()
      signing()
    },

    async published() {
      await atMostOld(READ_AGAIN_MS)
      return [...known.values()].map(({ jwk }) => jwk)
    },
  }
}

const importKey = async (jwk: JWK): Promise<CryptoKey> => (await importJWK(jwk, ALGORITHM)) as CryptoKey
