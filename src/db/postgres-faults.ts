import { errors } from '../base/errors.ts'
import { ConstraintError } from './database.ts'

// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONSTRAINTS: Record<string, ConstraintError['kind']> = {
  '23001': 'foreign_key', // of `on delete restrict`
  '23502': 'not_null',
  '23503': 'foreign_key',
  '23505': 'unique',
  '23514': 'check',
}
const CANCELLED = '57014'
const CONFLICTS = new Set(['40001', '40P01']) // serialisation failure, deadlock
const CHANGED_PLAN = '0A000'
const READ_ONLY = '25006' // the server has become a standby
const LOST = new Set([
  '25P03', // idle in a transaction for too long
  '53300', // too many connections
])
// No room, a lock that somebody keeps, an operator's intervention, the system underneath: not the statement's fault.
const OUT_OF_ORDER = /^(?:53|55P03|57|58)/
const SOCKET_FAULTS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/**
 * What a fault of the connection means for the work:
 * `lost`: the connection is gone, and what it was asked last may or may not have happened;
 * `silent`: the same, after so long a wait that there is no time for another try;
 * `conflict`: the server undid the transaction for the sake of another one;
 * `stale`: another connection may do what this one refused: the tables changed under a statement that was planned
 *   before, or the server has become read-only;
 * `refused`: the statement itself was.
 */
export type Kind = 'lost' | 'silent' | 'conflict' | 'stale' | 'refused'

/** @param error what `pg` threw, and nothing else: other libraries' faults may look alike */
export function kindOf(error: unknown): Kind {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (CONFLICTS.has(code)) return 'conflict'
  if (code === READ_ONLY || (code === CHANGED_PLAN && message.startsWith('cached plan'))) return 'stale'
  if (/timeout/i.test(message) && code === '') return 'silent' // of pg itself, while connecting or waiting for an answer
  if (LOST.has(code) || code.startsWith('08') || code.startsWith('57P0') || SOCKET_FAULTS.has(code))
    return 'lost'
  return /^(?:connection (?:terminated|ended|error)|client (?:has encountered|was closed))/i.test(message)
    ? 'lost'
    : 'refused'
}

/** The error that a caller sees. */
export function errorOf(error: unknown): Error {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const kind = CONSTRAINTS[code]
  if (kind) return new ConstraintError(kind, message, { cause: error })
  if (code === CANCELLED)
    return errors.unavailable({
      retryAfter: 30,
      message: 'The query took longer than 30 s: narrow it.',
      cause: error,
    })
  if (kindOf(error) !== 'refused' || OUT_OF_ORDER.test(code))
    return errors.unavailable({ retryAfter: 1, cause: error })
  return error as Error
}
