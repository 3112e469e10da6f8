import { oneLine } from '../../../base/one-line.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import { addToHistorySql } from '../messages/message-history.ts'
import type { MessageEvents } from '../messages/message-events.ts'
import type { MailReport, TextReport } from '../providers/provider.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'

const REASON_CHARACTERS = 300

/** Moves messages on by what their providers report. */
export type Reports = {
  /** @param provider the name of the one that reports; messages of others stay as they are */
  text(report: TextReport, provider: string): Promise<void>
  mail(report: MailReport): Promise<void>
}

const MISTAKEN =
  'The provider did not say whether it took the message; what was taken for it was an equal one.'

// The states from which a report moves a message on: reports come in any order, twice, and after another one has said
// more. A message that failed because its outcome was unknown has no id of its provider, and is sent after all once its
// provider reports anything.
const FROM = {
  sent: sql.literal(`(status in ('queued', 'sending') or (status = 'failed' and message_id is null))`),
  delivered: sql.literal(`status in ('queued', 'sending', 'sent', 'failed')`),
  failed: sql.literal(
    `(status in ('queued', 'sending', 'sent') or (status = 'failed' and message_id is null))`,
  ),
  bounced: sql.literal(`status in ('queued', 'sending', 'sent', 'failed', 'delivered')`),
}

/** What is of no message of ours, or is behind its message already, changes nothing. */
export function createReports(
  { db, clock }: Pick<WireContext, 'db' | 'clock'>,
  { events }: { events: MessageEvents },
): Reports {
  const step = (
    status: keyof typeof FROM,
    messageId: Sql,
    error: string | undefined,
    now: number,
  ): Sql => sql`
    update messaging_messages set status = ${status}, message_id = ${messageId},
      error = ${error === undefined ? null : oneLine(error, REASON_CHARACTERS)},
      payload = null, claim = null, lease_until = 0, attempted_at = null, call_state = null, updated_at = ${now},
      ${addToHistorySql({ event: status, text: error }, now)}`

  return {
    async text({ id, messageId, status, error = 'The provider reported that it failed.' }, provider) {
      const now = clock.now()
      await db.batch([
        sql`
        ${step(status, sql`${messageId}`, status === 'failed' ? error : undefined, now)}
        where id = ${id} and channel in ('sms', 'whatsapp') and provider = ${provider}
          and (message_id is null or message_id = ${messageId}) and ${FROM[status]}`,
        // An equal text with an unknown outcome may have been found as this one: now its provider says whose it is.
        sql`
        update messaging_messages set status = 'failed', message_id = null, error = ${MISTAKEN},
          attempted_at = ${now}, updated_at = ${now}
        where message_id = ${messageId} and id <> ${id} and channel in ('sms', 'whatsapp') and provider = ${provider}
          and exists (select 1 from messaging_messages own
            where own.id = ${id} and own.message_id = ${messageId} and own.provider = ${provider})`,
        ...events.endedSql(status, sql`id = ${id}`, now),
        // Equal texts went to the same number.
        ...events.endedSql(
          'failed',
          sql`id <> ${id} and error = ${MISTAKEN} and id in (
            select message_id from messaging_recipients
            where address in (select address from messaging_recipients where message_id = ${id}))`,
          now,
        ),
      ])
    },

    async mail({ messageId, status, reason = 'The mail bounced.' }) {
      const bare = messageId.trim().replace(/^<(.*)>$/, '$1')
      // Our own Message-IDs begin with the id of the message.
      const [id = ''] = bare.split('@', 1)
      const now = clock.now()
      const isIt = sql`(id = ${id} or message_id = ${bare}) and channel = 'email'`
      await db.batch([
        sql`${step(status, sql`coalesce(message_id, ${bare})`, status === 'bounced' ? reason : undefined, now)}
          where ${isIt} and ${FROM[status]}`,
        ...events.endedSql(status, isIt, now),
      ])
    },
  }
}
