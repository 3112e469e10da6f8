import type { Clock } from '../../base/clock.ts'
import { oneLine } from '../../base/one-line.ts'
import type { Database } from '../../db/database.ts'
import { sql, type Sql } from '../../db/sql.ts'

const REASON_CHARACTERS = 300

/** What a provider says of a message after it took it. */
export type Reports = {
  /**
   * A text of ours, by our id.
   *
   * @param report.messageId what the provider calls it
   * @param report.status the provider's own word
   */
  text(report: { id: string; messageId: string; status: string; error: string | undefined }): Promise<void>
  /** A mail, by its Message-ID, with or without angle brackets, or by what its provider called it. */
  mail(report: {
    messageId: string
    status: 'bounced' | 'delivered'
    reason: string | undefined
  }): Promise<void>
}

/** https://www.twilio.com/docs/messaging/api/message-resource#message-status-values; others say nothing new. */
const TEXT_STATUS: Readonly<Record<string, 'sent' | 'delivered' | 'failed'>> = {
  accepted: 'sent',
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  failed: 'failed',
  canceled: 'failed',
}

const MISTAKEN =
  'The provider did not say whether it took the message; what was taken for it was an equal one.'

// Which steps there are: reports come in any order, twice, and after another one has said more. A message that was
// given up because nobody knew of it, which its provider has not named, is sent after all once it reports anything.
const FROM = {
  sent: sql.literal(`(status in ('queued', 'sending') or (status = 'failed' and message_id is null))`),
  delivered: sql.literal(`status in ('queued', 'sending', 'sent', 'failed')`),
  failed: sql.literal(
    `(status in ('queued', 'sending', 'sent') or (status = 'failed' and message_id is null))`,
  ),
  bounced: sql.literal(`status in ('queued', 'sending', 'sent', 'failed', 'delivered')`),
}

/** Moves messages on by what their providers report. What nobody knows, or is behind the message already, changes nothing. */
export function createReports(db: Database, clock: Clock): Reports {
  const step = (status: keyof typeof FROM, messageId: Sql, error: string | undefined): Sql => sql`
    update messaging_messages set status = ${status}, message_id = ${messageId},
      error = ${error === undefined ? null : oneLine(error, REASON_CHARACTERS)},
      payload = null, claim = null, lease_until = 0, attempted_at = null, call_state = null, updated_at = ${clock.now()}`

  return {
    async text({ id, messageId, status, error }) {
      const to = Object.hasOwn(TEXT_STATUS, status) ? TEXT_STATUS[status]! : undefined
      if (to === undefined) return
      await db.batch([
        sql`
        ${step(to, sql`${messageId}`, to === 'failed' ? (error ?? `The provider reported: ${status}.`) : undefined)}
        where id = ${id} and channel in ('sms', 'whatsapp')
          and (message_id is null or message_id = ${messageId}) and ${FROM[to]}`,
        // An equal text of which nobody knew may have been taken for this one: now its provider says whose it is.
        sql`
        update messaging_messages set status = 'failed', message_id = null, error = ${MISTAKEN},
          attempted_at = ${clock.now()}, updated_at = ${clock.now()}
        where message_id = ${messageId} and id <> ${id} and channel in ('sms', 'whatsapp')
          and exists (select 1 from messaging_messages own where own.id = ${id} and own.message_id = ${messageId})`,
      ])
    },

    async mail({ messageId, status, reason }) {
      const bare = messageId.trim().replace(/^<(.*)>$/, '$1')
      // Our own Message-IDs begin with the id of the message.
      const [id = ''] = bare.split('@', 1)
      await db.write(sql`
        ${step(status, sql`coalesce(message_id, ${bare})`, status === 'bounced' ? (reason ?? 'The mail bounced.') : undefined)}
        where (id = ${id} or message_id = ${bare}) and channel = 'email' and ${FROM[status]}`)
    },
  }
}
