import type { JWK } from 'jose'
import { JWKSNoMatchingKey } from 'jose/errors'
import { exportJWK } from 'jose/key/export'
import { generateKeyPair } from 'jose/key/generate/keypair'
import { importJWK } from 'jose/key/import'

import { deriveKey, randomToken } from '../../../base/crypto.ts'
import { StartError } from '../../../base/start-error.ts'
import { sql } from '../../../db/sql.ts'
import type { SealedColumn } from '../../../kernel/secret/sealed.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

// How long a key is published before it signs. Every replica reads the keys again well within that time.
const PUBLISHED_AHEAD_MS = 3_600_000
const MAX_AGE_MS = 60_000
// Tokens with an unknown key id make a replica read the keys again, at most this often.
const UNKNOWN_KEY_MAX_AGE_MS = 10_000
// Clocks of replicas differ, and a replica may sign with the key that it read last.
const LEEWAY_MS = 3_600_000

/** What is encrypted under `SIXWIRE_SECRET` here. */
export const SIGNING_KEYS_SEALED: SealedColumn = {
  table: 'auth_signing_keys',
  key: ['number'],
  column: 'private_jwk',
  purpose: 'signing-key',
}

/** Algorithm of every access token: Ed25519, RFC 8037. */
export const ALGORITHM = 'EdDSA'

/** A public key as `/.well-known/jwks.json` shows it (RFC 7517, RFC 8037). */
export type PublicJwk = { kty: string; crv: string; x: string; kid: string; use: string; alg: string }

export type SigningKeys = {
  /**
   * Reads the keys, and creates the first one.
   *
   * @throws StartError if `SIXWIRE_SECRET` is not the one that sealed them
   */
  start(): Promise<void>
  /** The key that signs now. */
  signer(): Promise<{ kid: string; privateKey: CryptoKey }>
  /** The public key with this id. Throws `JWKSNoMatchingKey` if there is none. */
  verifier(kid: string | undefined): Promise<CryptoKey>
  /** Every key that signs, will sign next, or signed a token that may not have expired. */
  published(): Promise<PublicJwk[]>
  /** Rejects if the keys cannot be read, or none may sign. */
  check(): Promise<void>
  /** For how long the newest key should have had a successor already, in milliseconds; 0 if it is not due. */
  overdueMs(): Promise<number>
  /** Adds the next key when it is due, and deletes those whose tokens have expired. */
  rotate(): Promise<void>
}

type Row = { number: number; kid: string; public_jwk: string; private_jwk: string; signs_from: number }
type Key = { kid: string; signsFrom: number; jwk: PublicJwk; publicKey: CryptoKey; privateKey: CryptoKey }

/**
 * The keys that sign access tokens, stored in the database for all replicas.
 *
 * @param options.secret `SIXWIRE_SECRET`
 * @param options.rotationMs for how long a key signs
 * @param options.tokenMs lifetime of a token
 */
export function createSigningKeys(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  options: { secret: string; rotationMs: number; tokenMs: number },
): SigningKeys {
  const { rotationMs, tokenMs } = options
  const seal = deriveKey(options.secret, SIGNING_KEYS_SEALED.purpose)
  let keys: readonly Key[] = []
  let readAt = -Infinity
  let reading: Promise<void> | undefined

  const importKey = async (jwk: JWK) => (await importJWK(jwk, ALGORITHM)) as CryptoKey

  async function openKey({ kid, public_jwk, private_jwk, signs_from }: Row): Promise<Key> {
    let privateJwk: string
    try {
      privateJwk = seal.open(private_jwk)
    } catch {
      throw new StartError(
        'SIXWIRE_SECRET: the signing keys in this database were sealed with another secret: restore that secret. ' +
          'If it is lost, empty the table auth_signing_keys; clients then refresh their tokens or sign in again',
      )
    }
    const jwk = JSON.parse(public_jwk) as PublicJwk
    const publicKey = await importKey(jwk)
    const privateKey = await importKey(JSON.parse(privateJwk) as JWK)
    return { kid, signsFrom: signs_from, jwk, publicKey, privateKey }
  }

  async function readKeys(): Promise<void> {
    const rows = await db.all(
      sql<Row>`select number, kid, public_jwk, private_jwk, signs_from from auth_signing_keys order by number`,
    )
    keys = await Promise.all(rows.map(async (row) => keys.find(({ kid }) => kid === row.kid) ?? openKey(row)))
    readAt = clock.elapsed()
  }

  /** Reads the keys if they were read longer ago than this; concurrent calls read once. */
  async function readIfOlder(ms: number): Promise<void> {
    if (clock.elapsed() - readAt < ms) return
    reading ??= readKeys().finally(() => (reading = undefined))
    await reading
  }

  function signingKey(): Key {
    const now = clock.now()
    // The clock may have been set back to before the first key.
    const key = keys.findLast(({ signsFrom }) => signsFrom <= now) ?? keys[0]
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
    const newest = await db.get(
      sql<Pick<Row, 'number' | 'signs_from'>>`
        select number, signs_from from auth_signing_keys order by number desc limit 1`,
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

    async overdueMs() {
      const newest = await db.get(
        sql<Pick<Row, 'signs_from'>>`select signs_from from auth_signing_keys order by number desc limit 1`,
      )
      return newest ? Math.max(0, clock.now() - newest.signs_from - rotationMs) : 0
    },

    async start() {
      await readKeys()
      await rotate()
      await readKeys()
    },

    async signer() {
      await readIfOlder(MAX_AGE_MS)
      return signingKey()
    },

    async verifier(kid) {
      const find = () => keys.find((key) => key.kid === kid)
      if (!find()) await readIfOlder(UNKNOWN_KEY_MAX_AGE_MS)
      const key = find()
      if (!key) throw new JWKSNoMatchingKey()
      return key.publicKey
    },

    async check() {
      await readKeys()
      signingKey()
    },

    async published() {
      await readIfOlder(MAX_AGE_MS)
      return keys.map(({ jwk }) => jwk)
    },
  }
}
