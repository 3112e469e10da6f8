import { errors, invalid } from '../base/errors.ts'

/** An answer as it is kept to be given again. */
export type KeptAnswer = { status: number; headers: Record<string, string>; body: string }

export type IdempotentStart =
  | { state: 'new'; recordId: string }
  | { state: 'done'; answer: KeptAnswer }
  | { state: 'running' }
  | { state: 'mismatch' }

/** Remembers for 24 h what was answered under which key, where every replica and the next start see it. */
export type IdempotencyStore = {
  /** Who calls without a token: told apart by what they ask, so that strangers who choose the same key do not meet. */
  stranger(request: string): string
  /**
   * Takes a key, or tells what became of the call that took it before.
   *
   * @param request everything that makes the call what it is; another one under the same key is a `mismatch`
   */
  begin(caller: string, key: string, request: string): Promise<IdempotentStart>
  /**
   * Keeps the answer; from now on `begin` gives it. The first one stands.
   *
   * @param keepMs after this the answer is erased and its key free; default 24 h
   */
  finish(caller: string, key: string, answer: KeptAnswer, keepMs?: number): Promise<void>
  /** Erases a kept answer: the key is free from now on. */
  expire(caller: string, key: string): Promise<void>
  /** Lets the same call be tried again now, with the same record id, after a fault that another try may not meet. */
  release(caller: string, key: string): Promise<void>
}

// Answers that say "not now" or "not you": the same call may well succeed later.
const PASSING = new Set([401, 403, 423, 429])

/** Whether an answer is the call's last word, to be given again, or another try may go differently. */
export const isFinal = (status: number): boolean => status < 500 && !PASSING.has(status)

const KEY = /^[\x21-\x7e]{1,255}$/

/** Reads the header; undefined where it is not sent. */
export function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !KEY.test(header))
    throw invalid({ path: '/headers/idempotency-key', message: 'must be 1 to 255 visible ASCII characters' })
  return header
}

/** Throws where the call may not run now. */
export function refuseUnlessNew(start: Exclude<IdempotentStart, { state: 'done' }>): asserts start is {
  state: 'new'
  recordId: string
} {
  if (start.state === 'mismatch')
    throw errors.idempotency_conflict({
      message:
        'This Idempotency-Key was sent with another request in the last 24 hours: use a new key for a new request.',
    })
  if (start.state === 'running')
    throw errors.idempotency_conflict({
      message: 'The first request with this Idempotency-Key is still under way: ask again shortly.',
      // Nearly every call ends within a second; one whose process died is refused until its lease is over.
      retryAfter: 1,
    })
}
