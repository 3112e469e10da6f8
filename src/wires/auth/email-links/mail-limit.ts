import type { Clock } from '../../../base/clock.ts'
import { deriveKey } from '../../../base/crypto.ts'
import type { ApiError } from '../../../base/errors.ts'
import { requireRow, type Database, type StepWith } from '../../../db/database.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { MailPurpose } from './mail-tokens.ts'

const HOUR_MS = 3_600_000

/** What mails are counted by; those that registrations send are counted apart from those that are asked for. */
export type MailCount = MailPurpose | 'registration'

/**
 * At most five mails of a kind to an address in any hour, of those that anybody can have sent there. Each kind counts
 * for itself: whoever asks for links to sign in takes nobody the link for a forgotten password.
 */
export type MailLimit = {
  /**
   * The step that counts one mail, first in the batch that sends it.
   *
   * Batches of one kind for one address wait for each other here, so what they do after it they do one after the other.
   *
   * @param addressKey the address as it is compared
   * @param over what is thrown where there were five already
   */
  taking(count: MailCount, addressKey: string, over: () => ApiError): StepWith
  /** The statement at which a batch waits for those of this kind, and that counts nothing. */
  waiting(count: MailCount, addressKey: string): Sql
  /** Removes what has no effect any more. */
  forgetOld(): Promise<void>
}

/** @param options.secret `SIXWIRE_SECRET`: addresses that strangers name are kept as a keyed hash */
export function createMailLimit(db: Database, clock: Clock, options: { secret: string }): MailLimit {
  const hash = deriveKey(options.secret, 'mail-counts')
  const keyOf = (count: MailCount, addressKey: string): string => hash.mac(`${count} ${addressKey}`)
  return {
    taking(count, addressKey, over) {
      const now = clock.now()
      // Others that count at the same moment may be a little ahead. A time far ahead is there where the clock was set
      // back since: it counts no longer.
      return requireRow(
        sql`insert into auth_mail_counts as held (address_key, at_1, at_2, at_3, at_4, at_5)
            values (${keyOf(count, addressKey)}, 0, 0, 0, 0, ${now})
            on conflict (address_key) do update set
              at_1 = held.at_2, at_2 = held.at_3, at_3 = held.at_4, at_4 = held.at_5, at_5 = ${now}
            where held.at_1 <= ${now - HOUR_MS} or held.at_1 > ${now + HOUR_MS}`,
        over,
      )
    },

    waiting: (count, addressKey) => sql`
      insert into auth_mail_counts as held (address_key, at_1, at_2, at_3, at_4, at_5)
      values (${keyOf(count, addressKey)}, 0, 0, 0, 0, 0)
      on conflict (address_key) do update set at_5 = held.at_5`,

    async forgetOld() {
      await db.write(sql`delete from auth_mail_counts where at_5 <= ${clock.now() - HOUR_MS}`)
    },
  }
}
