import { sha256 } from '../../../server/src/base/crypto.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import type { Transaction } from '../../../server/src/db/database.ts'
import { sql } from '../../../server/src/db/sql.ts'
import { PayPalError, unprocessable, type PaypalIssue, type Link } from './errors.ts'
import type { Resource } from './resources.ts'

/** The answer to a call, with and without `Prefer: return=representation`. */
export type PaypalAnswer = { full: Resource; minimal: Resource; isReplay?: boolean }

/** The idempotency key of a call: its `PayPal-Request-Id`, for one operation. */
export type RequestKey = { id: string; hash: string; keptMs: number }

type Done = { answer: PaypalAnswer; refusal?: Error | undefined }
type StoredPaypalAnswer = {
  answer: PaypalAnswer
  refusal?: { status: number; issues: PaypalIssue[]; links: Link[] }
}

/** PayPal keeps the ids of orders for 6 hours, those of captures and refunds for 45 days. */
const KEPT_MS = { order: 6 * 3_600_000, capture: 45 * 86_400_000, refund: 45 * 86_400_000 } as const

/** @param content the path and the body: another one under the same id is refused */
export const requestKey = (operation: keyof typeof KEPT_MS, id: string, content: string): RequestKey => ({
  id: `${operation} ${id}`,
  hash: sha256(content),
  keptMs: KEPT_MS[operation],
})

/** First answers by idempotency key, stored in the transaction of what they answer. */
export const createRequests = () => ({
  /**
   * Claims a key. If it is in use by another transaction, that one is waited for.
   *
   * @returns the first answer, or undefined if this call is the first
   * @throws PayPalError if the key was used for another request
   */
  async claim(tx: Transaction, { id, hash, keptMs }: RequestKey, now: number): Promise<Done | undefined> {
    await tx.write(
      sql`delete from sandbox_walletpay_requests where id = ${id} and created_at <= ${now - keptMs}`,
    )
    const rows = await tx.write(sql`
      insert into sandbox_walletpay_requests (id, request_hash, answer, created_at)
      values (${id}, ${hash}, '', ${now}) on conflict (id) do nothing returning id`)
    if (rows.length > 0) return undefined
    const row = await tx.get<{ request_hash: string; answer: string }>(
      sql`select request_hash, answer from sandbox_walletpay_requests where id = ${id}`,
    )
    if (row!.request_hash !== hash)
      throw unprocessable('DUPLICATE_REQUEST_ID', 'The PayPal-Request-Id was used for another request.')
    const { answer, refusal } = parseJson(row!.answer) as StoredPaypalAnswer
    return {
      answer: { ...answer, isReplay: true },
      refusal: refusal && new PayPalError(refusal.status, refusal.issues, refusal.links),
    }
  },

  async store(tx: Transaction, { id }: RequestKey, { answer, refusal }: Done): Promise<void> {
    const stored =
      refusal instanceof PayPalError
        ? { answer, refusal: { status: refusal.status, issues: refusal.issues, links: refusal.links } }
        : { answer }
    await tx.write(
      sql`update sandbox_walletpay_requests set answer = ${JSON.stringify(stored)} where id = ${id}`,
    )
  },
})
