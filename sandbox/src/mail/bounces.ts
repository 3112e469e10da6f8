import type { Step } from '../../../server/src/db/database.ts'
import type { CallbackQueue } from '../callbacks.ts'
import type { ProviderFault } from '../faults.ts'
import { NO_MAILBOX } from './magic.ts'
import type { StandInContext } from '../stand-in.ts'

/** Printable ASCII, as in RFC 5322, section 3.6.4, and no longer than a line. */
const MESSAGE_ID = /^[!-~]{1,998}$/

/** The time after which an accepted mail bounces, in milliseconds. */
const BOUNCED_MS = 250

type Report = { messageId: string; status: 'bounced'; reason: string }

export type Bounces = {
  /** The steps that enqueue the report of a bounced mail, for the batch that stores the mail. */
  insertSql(messageId: string | undefined, fault: ProviderFault['callback']): Step[]
  /** The statement that deletes the pending reports. */
  deleteSql: () => Step
  /** Counts the pending reports. */
  waiting(): Promise<number>
  /** @param secret the secret of the reports; undefined if the application accepts none */
  start(secret: string | undefined): void
}

/**
 * Reports mail that was accepted and then bounced, as a mail service does.
 *
 * @param url the address of the application that accepts such reports
 */
export function createBounces(
  { clock }: Pick<StandInContext, 'clock'>,
  { queue, url }: { queue: CallbackQueue; url: string },
): Bounces {
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
      // A report names the mail by its Message-ID, and the application accepts only valid ones.
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
    start: (value) => void (secret = value),
  }
}
