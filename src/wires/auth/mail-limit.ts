import type { Clock } from '../../base/clock.ts'
import { deriveKey } from '../../base/crypto.ts'
import type { ApiError } from '../../base/errors.ts'
import { must, type Database, type Must } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'

const HOUR_MS = 3_600_000

/** At most five mails to an address in any hour, of those that anybody can have sent there. */
export type MailLimit = {
  /**
   * The step that counts one mail, first in the batch that sends it.
   *
   * Batches for one address wait for each other here, so what they do after it they do one after the other.
   *
   * @param addressKey the address as it is compared
   * @param over what is thrown where there were five already
   */
  taking(addressKey: string, over: () => ApiError): Must
  /** Removes what has no effect any more. */
  forgetOld(): Promise<void>
}

/** @param options.secret `SIXWIRE_SECRET`: addresses that strangers name are kept as a keyed hash */
export function createMailLimit(db: Database, clock: Clock, options: { secret: string }): MailLimit {
  const hash = deriveKey(options.secret, 'mail-counts')
  return {
    taking(addressKey, over) {
      const now = clock.now()
      // Others that count at the same moment may be a little ahead. A time far ahead is there where the clock was set
      // back since: it counts no longer.
      return must(
        sql`insert into auth_mail_counts as held (address_key, at_1, at_2, at_3, at_4, at_5)
            values (${hash.mac(addressKey)}, 0, 0, 0, 0, ${now})
            on conflict (address_key) do update set
              at_1 = held.at_2, at_2 = held.at_3, at_3 = held.at_4, at_4 = held.at_5, at_5 = ${now}
            where held.at_1 <= ${now - HOUR_MS} or held.at_1 > ${now + HOUR_MS}`,
        over,
      )
    },

    async forgetOld() {
      await db.write(sql`delete from auth_mail_counts where at_5 <= ${clock.now() - HOUR_MS}`)
    },
  }
}
