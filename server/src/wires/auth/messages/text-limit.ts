import { deriveKey } from '../../../base/crypto.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { StepWith } from '../../../db/database.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const TEXTS = 3
const HOUR_MS = 3_600_000

/**
 * Three texts an hour to a number, and three for an account that adds one: texts cost money, and some numbers pay their
 * owner for each (SMS pumping).
 */
export type TextLimit = {
  /**
   * The step that counts one text, first in the batch that sends it. Batches of one number, or account, wait for each other
   * here.
   *
   * @param otherwise makes the error that is thrown if the limit is reached; default RATE_LIMITED
   */
  takeSql(of: { phone: string } | { userId: string }, otherwise?: () => ApiError): StepWith
}

/** @param options.secret `SIXWIRE_SECRET`: numbers that anybody can name are stored as a keyed hash */
export function createTextLimit(
  { rateLimiter }: Pick<WireContext, 'rateLimiter'>,
  options: { secret: string },
): TextLimit {
  const hash = deriveKey(options.secret, 'text-counts')
  return {
    takeSql(of, otherwise) {
      const bucket = 'phone' in of ? `number ${hash.mac(of.phone)}` : `account ${of.userId}`
      return rateLimiter.takeSql(`auth text ${bucket}`, TEXTS, HOUR_MS, otherwise)
    },
  }
}
