import type { Clock } from '../../base/clock.ts'
import type { Step } from '../../db/database.ts'
import type { CallbackQueue } from '../callbacks.ts'
import type { Fault } from '../faults.ts'
import { NO_MAILBOX } from './magic.ts'

/** Printable ASCII, as in RFC 5322, section 3.6.4, and no longer than a line. */
const MESSAGE_ID = /^[!-~]{1,998}$/

/** How long after it was accepted a mail bounces, in milliseconds. */
const BOUNCED_MS = 250

type Report = { messageId: string; status: 'bounced'; reason: string }

export type Bounces = {
  /** The steps that promise the report of a bounced mail, for the batch that keeps it. */
  insertSql(messageId: string | undefined, fault: Fault['callback']): Step[]
  /** The statement that deletes the reports which are still to be sent. */
  deleteSql: () => Step
  /** How many reports are still to be sent. */
  waiting(): Promise<number>
  /** @param secret that reports are sent with; undefined if the application takes none */
  start(secret: string | undefined): void
}

/**
 * Reports mail that was accepted and then bounced, as a mail service does.
 *
 * @param url where the application takes such reports
 */
export function createBounces(clock: Clock, queue: CallbackQueue, url: string): Bounces {
  let secret: string | undefined
  const callbacks = queue.of<Report>('mail', ({ message }) =>
    secret === undefined
      ? undefined
      : {
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify(message),
        },
  )
  return {
    insertSql(messageId, fault) {
      // A report names the mail by its Message-ID, and the application takes only what looks like one.
      if (secret === undefined || messageId === undefined || !MESSAGE_ID.test(messageId)) return []
      const reason = `${NO_MAILBOX.code} ${NO_MAILBOX.words}`
      const message: Report = { messageId, status: 'bounced', reason }
      return callbacks.insertSql(
        [{ subject: messageId, url, message, dueAt: clock.now() + BOUNCED_MS }],
        fault,
      )
    },
    deleteSql: () => callbacks.deleteSql(),
    waiting: () => callbacks.waiting(),
    start: (configured) => void (secret = configured),
  }
}
