import { sha256 } from '../../../server/src/base/crypto.ts'
import { newId } from '../../../server/src/base/ids.ts'
import type { Transaction } from '../../../server/src/db/database.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { StripeError } from './errors.ts'
import type { StandInContext } from '../stand-in.ts'

const KEPT_MS = 86_400_000
/** After that the server that performed the call has crashed; a fault delays a call by a minute at most. */
const LEASE_MS = 90_000
const KEY_MAX = 255

export type StoredStripeAnswer = { status: number; body: string; requestId: string }

/** A call under a key that is performed now, or its stored answer. */
export type KeyReservation = { replay: StoredStripeAnswer } | { owner: string }

export type IdempotentCalls = {
  /**
   * Reserves a key for a call.
   *
   * @param content its method, path and parameters
   * @throws StripeError if the key was used with other parameters, or its call is running
   */
  reserve(key: string, content: string, requestId: string): Promise<KeyReservation>
  /**
   * Stores the answer, in the transaction of the work.
   *
   * @throws StripeError if another call has taken the key over
   */
  store(
    tx: Pick<Transaction, 'write'>,
    key: string,
    owner: string,
    answer: Omit<StoredStripeAnswer, 'requestId'>,
  ): Promise<void>
  /** Frees a key whose call has changed nothing. */
  release(key: string, owner: string): Promise<void>
  /** Frees the keys of calls that ended with the last server. */
  releaseAll(): Promise<void>
}

type Row = { fingerprint: string; status: number | null; body: string | null; request_id: string }

/**
 * Answers by idempotency key, as Stripe keeps them for 24 hours.
 *
 * @see https://docs.stripe.com/api/idempotent_requests
 */
export function createIdempotentCalls({ db, clock }: Pick<StandInContext, 'db' | 'clock'>): IdempotentCalls {
  const inUse = () =>
    new StripeError(
      409,
      'There is currently another in-progress request using this Idempotent Key. Please try again later.',
      { code: 'idempotency_key_in_use' },
      { type: 'idempotency_error' },
    )

  return {
    async reserve(key, content, requestId) {
      if (key.length > KEY_MAX)
        throw new StripeError(400, `Idempotency keys can be at most ${KEY_MAX} characters long.`)
      const now = clock.now()
      const [owner, fingerprint] = [newId(now), sha256(content)]
      const [reserved] = await db.write(sql`
        insert into sandbox_cardpay_calls (key, fingerprint, owner, started_ms, status, request_id, body)
        values (${key}, ${fingerprint}, ${owner}, ${now}, ${null}, ${requestId}, ${null})
        on conflict (key) do update set fingerprint = excluded.fingerprint, owner = excluded.owner,
          started_ms = excluded.started_ms, status = null, request_id = excluded.request_id, body = null
        where sandbox_cardpay_calls.started_ms < ${now - KEPT_MS}
          or (sandbox_cardpay_calls.status is null and sandbox_cardpay_calls.started_ms < ${now - LEASE_MS})
        returning key`)
      if (reserved) return { owner }
      const stored = await db.get<Row>(
        sql`select fingerprint, status, body, request_id from sandbox_cardpay_calls where key = ${key}`,
      )
      if (!stored) throw inUse()
      if (stored.fingerprint !== fingerprint)
        throw new StripeError(
          400,
          `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
          {},
          { type: 'idempotency_error' },
        )
      if (stored.status === null) throw inUse()
      return { replay: { status: stored.status, body: stored.body!, requestId: stored.request_id } }
    },
    async store(tx, key, owner, { status, body }) {
      const rows = await tx.write(sql`
        update sandbox_cardpay_calls set status = ${status}, body = ${body}
        where key = ${key} and owner = ${owner} and status is null returning key`)
      if (rows.length === 0) throw inUse()
    },
    async release(key, owner) {
      await db.write(
        sql`delete from sandbox_cardpay_calls where key = ${key} and owner = ${owner} and status is null`,
      )
    },
    async releaseAll() {
      await db.batch([
        sql`delete from sandbox_cardpay_calls where status is null`,
        sql`delete from sandbox_cardpay_calls where started_ms < ${clock.now() - KEPT_MS}`,
      ])
    },
  }
}
