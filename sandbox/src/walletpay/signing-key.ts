import { createPrivateKey, generateKeyPair, X509Certificate, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

import { deriveKey } from '../../../server/src/base/crypto.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { selfSignedCertificate } from './certificate.ts'
import type { StandInContext } from '../stand-in.ts'

const generate = promisify(generateKeyPair)

export type WebhookSigningKey = {
  privateKey: KeyObject
  /** PEM. */
  certificate: string
  publicKey: KeyObject
  /** The id of the certificate in its address. */
  certId: string
}

export type SigningKeyStore = {
  /** The key; created at its first use. */
  get(): Promise<WebhookSigningKey>
  /** Reads the key if it exists. */
  load(): Promise<WebhookSigningKey | undefined>
  /** The key if it has been read already. */
  cached(): WebhookSigningKey | undefined
}

/**
 * The key that signs webhooks, stored encrypted, for all later starts and replicas. One that was encrypted under another
 * `SIXWIRE_SECRET` is replaced.
 */
export function createSigningKeyStore(
  { db }: Pick<StandInContext, 'db'>,
  { secret }: { secret: string },
): SigningKeyStore {
  const seal = deriveKey(secret, 'sandbox-walletpay-key')
  let cache: WebhookSigningKey | undefined
  let pending: Promise<WebhookSigningKey> | undefined

  async function read(): Promise<{ sealed: string; key: WebhookSigningKey | undefined } | undefined> {
    const row = await db.get<{ sealed: string }>(
      sql`select sealed from sandbox_keys where name = 'walletpay'`,
    )
    if (!row) return undefined
    try {
      const stored = JSON.parse(seal.open(row.sealed)) as { key: string; certificate: string }
      const { publicKey, fingerprint256 } = new X509Certificate(stored.certificate)
      const certId = `CERT-${fingerprint256.replaceAll(':', '').slice(0, 16).toLowerCase()}`
      const privateKey = createPrivateKey(stored.key)
      return { sealed: row.sealed, key: { privateKey, publicKey, certificate: stored.certificate, certId } }
    } catch {
      return { sealed: row.sealed, key: undefined }
    }
  }

  async function readOrCreate(): Promise<WebhookSigningKey> {
    let stored = await read()
    if (!stored?.key) {
      const keys = await generate('rsa', { modulusLength: 2048 })
      const text = JSON.stringify({
        key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
        certificate: selfSignedCertificate(keys, 'sandbox'),
      })
      // If several servers create one at the same time, all use the first.
      await db.write(sql`
        insert into sandbox_keys (name, sealed) values ('walletpay', ${seal.seal(text)})
        on conflict (name) do update set sealed = excluded.sealed
        where sandbox_keys.sealed = ${stored?.sealed ?? ''}`)
      stored = await read()
    }
    cache = stored!.key!
    return cache
  }

  return {
    cached: () => cache,
    async load() {
      cache ??= (await read())?.key
      return cache
    },
    async get() {
      if (cache) return cache
      pending ??= readOrCreate().finally(() => (pending = undefined))
      return pending
    },
  }
}
