import { deriveKey } from '../../../base/crypto.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { StepWith } from '../../../db/database.ts'
import type { Sql } from '../../../db/sql.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import type { MailPurpose } from './mail-tokens.ts'

const MAILS = 5
const HOUR_MS = 3_600_000

/** What mails are counted by; those that registrations send are counted apart from those that are asked for. */
export type MailCount =
  | MailPurpose
  | 'registration'
  | 'invitation'
  | 'notice'
  | 'address-change'
  | 'address-change-by-account'

/**
 * Five mails of a kind to an address and hour, of those that anybody can have sent there. Each kind counts for itself:
 * requests for sign-in links do not use up the link for a forgotten password.
 */
export type MailLimit = {
  /**
   * The step that counts one mail, first in the batch that sends it. Batches of one kind and address wait for each other
   * here.
   *
   * @param addressKey the address as it is compared; of `address-change-by-account` the id of the account
   * @param otherwise makes the error that is thrown if the limit is reached
   */
  takeSql(count: MailCount, addressKey: string, otherwise: () => ApiError): StepWith
  /** The statement at which a batch waits for others of this kind and address, and that counts nothing. */
  waitSql(count: MailCount, addressKey: string): Sql
}

/** @param options.secret `SIXWIRE_SECRET`: addresses that anybody can name are stored as a keyed hash */
export function createMailLimit(
  { rateLimiter }: Pick<WireContext, 'rateLimiter'>,
  options: { secret: string },
): MailLimit {
  const hash = deriveKey(options.secret, 'mail-counts')
  const bucketOf = (count: MailCount, addressKey: string): string =>
    `auth mail ${hash.mac(`${count} ${addressKey}`)}`
  return {
    takeSql: (count, addressKey, otherwise) =>
      rateLimiter.takeSql(bucketOf(count, addressKey), MAILS, HOUR_MS, otherwise),
    waitSql: (count, addressKey) => rateLimiter.waitSql(bucketOf(count, addressKey)),
  }
}
