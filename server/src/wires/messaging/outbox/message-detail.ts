import type { Key } from '../../../base/crypto.ts'
import { isoTime } from '../../../base/clock.ts'
import { errors } from '../../../base/errors.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { readContent, type MessageContent } from '../messages/message-content.ts'
import { readHistory, type HistoryEvent } from '../messages/message-history.ts'
import { entryOf, MESSAGE_COLUMNS, type LogEntry, type MessageRow } from '../messages/messages.ts'
import { canResendSql } from './outbox-rows.ts'

/** A message with what happened to it, without its content. */
export type MessageDetail = LogEntry & {
  /** The user who had it sent; absent: the server itself. */
  owner?: string
  attempts: number
  updatedAt: string
  history: (HistoryEvent & { at: string })[]
  /** Whether what is, or was, to be sent is still stored. */
  hasContent: boolean
  canResend: boolean
}

type Row = MessageRow & {
  owner: string | null
  attempts: number
  history: string | null
  updated_at: number
  has_content: 0 | 1
  can_resend: 0 | 1
}

const notFound = () => errors.not_found({ message: 'There is no message of this id.' })

/** Reads a message of any owner. @throws NOT_FOUND */
export async function getMessage(db: Database, id: string): Promise<MessageDetail> {
  const row = await db.get<Row>(sql`
    select ${sql.literal(MESSAGE_COLUMNS.join(', '))}, owner, attempts, history, updated_at,
      payload is not null as has_content, (${canResendSql}) as can_resend
    from messaging_messages where id = ${id}`)
  if (!row) throw notFound()
  return {
    ...entryOf(row),
    ...(row.owner !== null && { owner: row.owner }),
    attempts: row.attempts,
    updatedAt: isoTime(row.updated_at),
    history: readHistory(row.history),
    hasContent: row.has_content === 1,
    canResend: row.can_resend === 1,
  }
}

/**
 * Reads the content of a message that a user sent, while it is stored.
 *
 * @param key what it is sealed with
 * @throws NOT_FOUND if it is not stored any more, or cannot be read; FORBIDDEN for a message of the server itself, which may
 *   hold a link that signs in
 */
export async function getMessageContent(db: Database, key: Key, id: string): Promise<MessageContent> {
  const row = await db.get<{ owner: string | null; payload: string | null }>(
    sql`select owner, payload from messaging_messages where id = ${id}`,
  )
  if (!row) throw notFound()
  if (row.owner === null)
    throw errors.forbidden({
      message:
        'The content of a message of the server is not shown: it may hold a link or a code that signs in.',
    })
  if (row.payload === null)
    throw errors.not_found({ message: 'The content of this message is deleted, as of all that were sent.' })
  try {
    return readContent(key.open(row.payload))
  } catch {
    throw errors.not_found({
      message: 'The content was sealed with another SIXWIRE_SECRET, and cannot be read.',
    })
  }
}
