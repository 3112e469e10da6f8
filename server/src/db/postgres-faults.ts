import pg from 'pg'

import { errors, type ErrorKind } from '../base/errors.ts'
import { closedError } from './closed-tables.ts'
import { ConstraintError } from './database.ts'

// SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONSTRAINTS: Record<string, ConstraintError['kind']> = {
  '23001': 'foreign_key', // of `on delete restrict`
  '23502': 'not_null',
  '23503': 'foreign_key',
  '23505': 'unique',
  '23514': 'check',
  SX001: 'trigger', // of our own triggers
}
const CANCELLED = '57014'
const CONFLICTS = new Set(['40001', '40P01']) // serialisation failure, deadlock
const CHANGED_PLAN = '0A000'
const READ_ONLY = '25006' // the server has become a standby
// Connection exceptions; idle in a transaction for too long; too many connections; shut down, crashed, starting up.
const LOST = /^(?:08|25P03|53300|57P0)/
// No room, a lock that somebody keeps, an operator's intervention, the system underneath: not the statement's fault.
const OUT_OF_ORDER = /^(?:53|55P03|57|58)/
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

/** A server that answers neither its statements nor a new connection. */
export class SilentServerError extends Error {
  constructor() {
    super('the server answers nothing any more')
  }
}

/** @param error what `pg` threw while it connected or ran a statement */
export function kindOf(error: unknown): Kind {
  if (error instanceof RangeError) return 'refused' // a number that is too large to be read
  if (!(error instanceof pg.DatabaseError)) return isSilence(error) ? 'silent' : 'lost'
  const { code = '', message } = error
  if (CONFLICTS.has(code)) return 'conflict'
  if (code === READ_ONLY || (code === CHANGED_PLAN && message.startsWith('cached plan'))) return 'stale'
  return LOST.test(code) ? 'lost' : 'refused'
}

/** Whether a server takes no writes. */
export const isReadOnly = (error: unknown): boolean => (error as { code?: string }).code === READ_ONLY

/** Whether the server answered so, and not the connection or its absence. */
export const isFromServer = (error: unknown): boolean => error instanceof pg.DatabaseError

// Of `pg` itself, which gives its timeouts no code: while connecting, or waiting for an answer.
const isSilence = (error: unknown): boolean =>
  error instanceof SilentServerError ||
  (error instanceof Error && !('code' in error) && /timeout/i.test(error.message))

const STORAGE: Record<string, ErrorKind> = {
  [READ_ONLY]: errors.storage_read_only,
  '53100': errors.storage_full,
  XX001: errors.storage_damaged,
  XX002: errors.storage_damaged, // an index
}

/**
 * The error that a caller sees.
 *
 * @param isOverLimit whether as much time passed as a statement may take: the server has one code for all that are cancelled,
 *   and a text in its own language
 */
export function errorOf(error: unknown, isOverLimit = false): Error {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const kind = CONSTRAINTS[code]
  if (kind === 'trigger') return closedError(message) ?? new ConstraintError(kind, message, { cause: error })
  if (kind) return new ConstraintError(kind, message, { cause: error })
  if (code === CANCELLED && isOverLimit)
    return errors.unavailable({
      retryAfter: 30,
      message: 'The query took longer than 30 s: narrow it.',
      cause: error,
    })
  const ofStorage = STORAGE[code]
  if (ofStorage) return ofStorage({ cause: error })
  if (kindOf(error) !== 'refused' || OUT_OF_ORDER.test(code))
    return errors.unavailable({ retryAfter: 1, cause: error })
  return error as Error
}
