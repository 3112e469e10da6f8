import { errors } from '../../../base/errors.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import type { Actor } from '../../../http/actor.ts'
import { COMMAND_LINE } from '../../../http/actor.ts'
import type { Audit } from '../../../kernel/audit/audit.ts'
import { isRepeatable } from '../messages/message-content.ts'
import { getMessage, type MessageDetail } from './message-detail.ts'
import type { Channel } from '../providers/provider.ts'
import type { Outbox } from './outbox.ts'

/**
 * Queues a failed message once more, with the content that it had: an email under the same Message-ID, a text only if it
 * certainly did not arrive.
 *
 * @returns the message as it is then
 * @throws NOT_FOUND; CONFLICT, which says why it cannot be sent again
 */
export async function resendMessage(
  { db, audit, outbox }: { db: Database; audit: Audit; outbox: Outbox },
  id: string,
  actor: Actor = COMMAND_LINE,
): Promise<MessageDetail> {
  const isQueued = await outbox.resend(id, [
    audit.entrySql(actor, { action: 'message.resent', target: `message:${id}` }),
  ])
  if (!isQueued) throw errors.conflict({ message: await reasonOf(db, id) })
  return getMessage(db, id)
}

type Row = { channel: Channel; status: string; message_id: string | null; attempted_at: number | null }

async function reasonOf(db: Database, id: string): Promise<string> {
  const row = await db.get<Row>(
    sql`select channel, status, message_id, attempted_at from messaging_messages where id = ${id}`,
  )
  if (!row) throw errors.not_found({ message: 'There is no message of this id.' })
  const { channel, status, message_id, attempted_at } = row
  if (status === 'queued' || status === 'sending') return 'The message is being sent already.'
  if (status !== 'failed') return 'The message was sent: only one that failed can be sent again.'
  if (message_id !== null)
    return 'The provider took the message and did not deliver it; its content was deleted then: send a new one.'
  if (!isRepeatable(channel) && attempted_at !== null)
    return 'The message may have arrived, and a text is never sent twice: send a new one.'
  return 'The content of the message is deleted already: send a new one.'
}
