import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'

import { deriveKey } from '../../../server/src/base/crypto.ts'
import { sql } from '../../../server/src/db/sql.ts'
import type { StandInContext } from '../stand-in.ts'

/** The default algorithm of OpenID Connect issuers. */
export const ALGORITHM = 'RS256'

export type SigningKey = { kid: string; privateKey: CryptoKey; publicJwk: JWK }

type KeyPair = { private: JWK; public: JWK }

/**
 * The issuer's key, created at its first use and stored encrypted, for all later starts and replicas. One that was
 * encrypted under another `SIXWIRE_SECRET` is replaced: nothing valuable was signed with it.
 */
export function createSigningKey(
  { db }: Pick<StandInContext, 'db'>,
  { secret }: { secret: string },
): () => Promise<SigningKey> {
  const seal = deriveKey(secret, 'sandbox-signing-key')
  let cache: Promise<SigningKey> | undefined

  async function read(): Promise<{ sealed: string; pair: KeyPair | undefined } | undefined> {
    const row = await db.get<{ sealed: string }>(sql`select sealed from sandbox_keys where name = 'idpa'`)
    if (!row) return undefined
    try {
      return { sealed: row.sealed, pair: JSON.parse(seal.open(row.sealed)) as KeyPair }
    } catch {
      return { sealed: row.sealed, pair: undefined }
    }
  }

  async function readOrCreate(): Promise<SigningKey> {
    let stored = await read()
    if (!stored?.pair) {
      const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
      const pair = { private: await exportJWK(privateKey), public: await exportJWK(publicKey) }
      // If several servers create one at the same time, all use the first.
      await db.write(sql`
        insert into sandbox_keys (name, sealed) values ('idpa', ${seal.seal(JSON.stringify(pair))})
        on conflict (name) do update set sealed = excluded.sealed
        where sandbox_keys.sealed = ${stored?.sealed ?? ''}`)
      stored = await read()
    }
    const { private: privateJwk, public: jwk } = stored!.pair!
    const kid = await calculateJwkThumbprint(jwk)
    return {
      kid,
      privateKey: (await importJWK(privateJwk, ALGORITHM)) as CryptoKey,
      publicJwk: { ...jwk, kid, use: 'sig', alg: ALGORITHM },
    }
  }

  return () => {
    cache ??= readOrCreate().catch((error: unknown) => {
      cache = undefined
      throw error
    })
    return cache
  }
}
