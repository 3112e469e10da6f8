import { deriveKey, keyBytes, keyOf, type Key } from '../../base/crypto.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'

/** A column of text that is encrypted under `SIXWIRE_SECRET`, by `deriveKey(secret, purpose).seal`; null: nothing. */
export type SealedColumn = {
  table: string
  /** The columns of the primary key. */
  key: readonly string[]
  column: string
  purpose: string
  /**
   * A column for the time at which a rotation of the secret retired the row: if what is encrypted are keys, they decrypt
   * what they have encrypted, and a new one is created for all else.
   */
  retiredAt?: string
}

/** The purpose of the key that encrypts stored answers, and hashes their requests. */
export const IDEMPOTENCY = 'idempotency'

const PREVIOUS = 'previous-idempotency-key'

/** What the frame itself has encrypted. Stored answers live for a day: their key is carried on instead. */
export const FRAME_SEALED: readonly SealedColumn[] = [
  { table: 'sixwire_secrets', key: ['fingerprint'], column: 'idempotency_key', purpose: PREVIOUS },
]

/** Tells secrets apart without telling anything about them. */
const fingerprintOf = (secret: string): string => deriveKey(secret, 'fingerprint').mac('sixwire')

/** Whether the last rotation was one to this secret. */
export async function isRotatedTo(db: Database, secret: string): Promise<boolean> {
  const row = await db.get<{ fingerprint: string }>(
    sql`select fingerprint from sixwire_secrets order by rotated_at desc limit 1`,
  )
  return row?.fingerprint === fingerprintOf(secret)
}

/** The statements that record a rotation, and carry the key of stored answers on. */
export function recordRotationSql(from: string, to: string, now: number, retentionMs: number): Sql[] {
  const key = deriveKey(to, PREVIOUS).seal(keyBytes(from, IDEMPOTENCY).toString('base64url'))
  return [
    sql`delete from sixwire_secrets where rotated_at <= ${now - retentionMs}`,
    sql`insert into sixwire_secrets (fingerprint, idempotency_key, rotated_at)
        values (${fingerprintOf(to)}, ${key}, ${now})
        on conflict (fingerprint) do update set
          idempotency_key = excluded.idempotency_key, rotated_at = excluded.rotated_at`,
  ]
}

/** The keys of answers that were stored before rotations after this time. */
export async function previousIdempotencyKeys(db: Database, secret: string, since: number): Promise<Key[]> {
  const rows = await db.all<{ idempotency_key: string }>(
    sql`select idempotency_key from sixwire_secrets where rotated_at > ${since} order by rotated_at desc`,
  )
  const key = deriveKey(secret, PREVIOUS)
  return rows.flatMap(({ idempotency_key }) => {
    try {
      return keyOf(Buffer.from(key.open(idempotency_key), 'base64url'))
    } catch {
      return []
    }
  })
}
