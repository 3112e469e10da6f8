import { errors, invalid } from '../base/errors.ts'

/** An answer in the form in which it is stored and replayed. */
export type StoredAnswer = { status: number; headers: Record<string, string>; body: string }

/** A key that a call has claimed, and what it belongs to. */
export type ClaimedKey = { readonly owner: string; readonly key: string }

export type IdempotentStart =
  /** `isRepeated`: whether an earlier call under the key may have created the record. */
  | { state: 'new'; recordId: string; isRepeated: boolean }
  | { state: 'done'; answer: StoredAnswer }
  /** `retryAfter` in seconds */
  | { state: 'running'; retryAfter: number }
  | { state: 'mismatch' }

/** Stores answers by key for 24 hours, for all replicas and across restarts. */
export type IdempotencyStore = {
  /** The caller of a request without a token: made of the request, so that callers with the same key stay apart. */
  anonymous(request: string): string
  /**
   * Claims a key, or returns the state of the call that claimed it before.
   *
   * @param request everything that identifies the call; another request under the same key is a `mismatch`
   */
  begin(caller: string, key: string, request: string): Promise<IdempotentStart>
  /** Whether this call was begun under this key. */
  has(caller: string, key: string, request: string): Promise<boolean>
  /**
   * Stores the answer, which `begin` returns from now on. It never replaces an earlier one.
   *
   * @param keepMs milliseconds after which the answer is deleted and its key is free; default 24 h
   */
  finish(caller: string, key: string, answer: StoredAnswer, keepMs?: number): Promise<void>
  /** Deletes a stored answer, which frees the key. */
  expire(caller: string, key: string): Promise<void>
  /** Allows the same call again at once, with the same record id, after an error that may be temporary. */
  release(caller: string, key: string): Promise<void>
}

// With these the same call may succeed later: the caller, the state of the record, or the server may change.
const TEMPORARY = new Set([401, 403, 409, 422, 423, 429])

/** Whether an answer is final and replayed; otherwise another attempt may succeed. */
export const isFinal = (status: number): boolean => status < 500 && !TEMPORARY.has(status)

const KEY = /^[\x21-\x7e]{1,255}$/

/** Reads the header; undefined if it is not sent. */
export function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !KEY.test(header))
    throw invalid({ path: '/headers/idempotency-key', message: 'must be 1 to 255 visible ASCII characters' })
  return header
}

/** @throws IDEMPOTENCY_CONFLICT if the call may not run now */
export function refuseUnlessNew(start: Exclude<IdempotentStart, { state: 'done' }>): asserts start is {
  state: 'new'
  recordId: string
  isRepeated: boolean
} {
  if (start.state === 'mismatch')
    throw errors.idempotency_conflict({
      message:
        'This Idempotency-Key was sent with another request in the last 24 hours: use a new key for a new request.',
    })
  if (start.state === 'running')
    throw errors.idempotency_conflict({
      message: 'The first request with this Idempotency-Key is still running: try again shortly.',
      retryAfter: start.retryAfter,
    })
}
