import type { Clock } from '../../base/clock.ts'
import type { Sql } from '../../db/sql.ts'
import type { Callbacks } from '../callbacks.ts'
import type { Fault } from '../faults.ts'
import { NO_MAILBOX } from './magic.ts'

/** Printable ASCII, as in RFC 5322, section 3.6.4, and no longer than a line. */
const NAMEABLE = /^[!-~]{1,998}$/

/** How long after a mail was taken it comes back, in milliseconds. */
const RETURNED_MS = 250

export type Bounces = {
  /**
   * The statements that promise the report of a mail which comes back, to stand in the batch that keeps it; call `wake`
   * after it.
   */
  insertions(messageId: string | undefined, fault: Fault['callback']): Sql[]
  wake(): void
  /** @param secret what the application wants to hear with a report; without one nobody there takes any */
  start(secret: string | undefined): void
}

/**
 * Reports mail that was taken and comes back, as whoever watches over an application's mail would.
 *
 * @param url where the application takes such reports
 */
export function createBounces(clock: Clock, callbacks: Callbacks, url: string): Bounces {
  let secret: string | undefined
  return {
    insertions(messageId, fault) {
      // A report names the mail by its Message-ID; what none of ours looks like, the application would not take.
      if (secret === undefined || messageId === undefined || !NAMEABLE.test(messageId)) return []
      const report = {
        subject: messageId,
        url,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          messageId,
          status: 'bounced',
          reason: `${NO_MAILBOX.code} ${NO_MAILBOX.words}`,
        }),
        dueAt: clock.now() + RETURNED_MS,
      }
      return callbacks.insertions([report], fault)
    },
    wake: () => callbacks.wake(),
    start: (given) => void (secret = given),
  }
}
