import { isoTime } from '../../../base/clock.ts'
import { emailKey } from '../../../base/email-address.ts'
import { containsPattern } from '../../../db/contains.ts'
import type { Database } from '../../../db/database.ts'
import { leastIdOf } from '../../../base/ids.ts'
import type { RowFilter } from '../../../base/row-filter.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Page } from '../../../http/page.ts'
import { createCountedList } from '../../../kernel/requests/counted-list.ts'
import type { Channel } from '../providers/provider.ts'

const BATCH = 500

export const STATUSES = ['queued', 'sending', 'sent', 'failed', 'delivered', 'bounced'] as const
export type MessageStatus = (typeof STATUSES)[number]

/** A message as the log shows it, without its content. */
export type LogEntry = {
  _id: string
  channel: Channel
  to: string
  /** Only of emails that a caller sent: the subject of an email of the service may contain a secret. */
  subject?: string
  template?: string
  status: MessageStatus
  /** The provider's id of the message. */
  messageId?: string
  provider?: string
  error?: string
  createdAt: string
}

/** The filters of the log; times are milliseconds since 1970, `since` inclusive, `until` exclusive. */
export type LogQuery = {
  channel?: Channel
  /** Any recipient, in cc and bcc as well. */
  to?: string
  status?: MessageStatus
  /** Text within what the log shows. */
  q?: string
  since?: number
  until?: number
}

export type LogPage = { logs: LogEntry[]; total: number | undefined; nextCursor?: string }

export type MessageRow = {
  id: string
  channel: Channel
  recipient: string
  subject: string | null
  template: string | null
  status: MessageStatus
  message_id: string | null
  provider: string | null
  error: string | null
  created_at: number
}

/** The columns that the log shows. */
export const MESSAGE_COLUMNS = [
  'id',
  'channel',
  'recipient',
  'subject',
  'template',
  'status',
  'message_id',
  'provider',
  'error',
  'created_at',
] as const

/** The form in which addresses and numbers are compared. A plus that was not percent-encoded arrives as a space. */
const keyOf = (to: string): string => emailKey(to).replace(/^(?=\d+$)/, '+')

/** A message as the log shows it. */
export const entryOf = (row: MessageRow): LogEntry => ({
  _id: row.id,
  channel: row.channel,
  to: row.recipient,
  ...(row.subject !== null && { subject: row.subject }),
  ...(row.template !== null && { template: row.template }),
  status: row.status,
  ...(row.message_id !== null && { messageId: row.message_id }),
  ...(row.provider !== null && { provider: row.provider }),
  ...(row.error !== null && { error: row.error }),
  createdAt: isoTime(row.created_at),
})

// Literals, because a partial index on a status is not used with a parameter.
const HAS_STATUS = Object.fromEntries(
  STATUSES.map((status) => [status, sql.literal(`status = '${status}'`)]),
) as Record<MessageStatus, Sql>

/** Text within what the log shows of a message, or one of its ids. */
function searchSql(text: string): Sql {
  const pattern = containsPattern(text.toLowerCase())
  return sql`(id = ${text} or message_id = ${text} or lower(recipient) like ${pattern} escape '!'
    or lower(subject) like ${pattern} escape '!' or template like ${pattern} escape '!')`
}

/** Reads one page of the log, newest first. */
export type MessageLog = (rowFilter: RowFilter, query: LogQuery, page: Page) => Promise<LogPage>

export function createMessageLog(db: Database): MessageLog {
  const list = createCountedList<MessageRow>(
    { db },
    {
      name: 'messaging.messages',
      table: sql.literal('messaging_messages'),
      columns: sql.literal(MESSAGE_COLUMNS.join(', ')),
      sorts: { status: { key: sql.literal('status'), valueOf: ({ status }) => status } },
    },
  )
  return async (rowFilter, query, page) => {
    const { rows, ...rest } = await list(rowFilter, messageConditions(query), page)
    return { logs: rows.map(entryOf), ...rest }
  }
}

/** What the filters of the log ask of a message. */
export const messageConditions = ({ channel, to, status, q, since, until }: LogQuery): Sql[] => [
  ...(channel === undefined ? [] : [sql`channel = ${channel}`]),
  ...(status === undefined ? [] : [HAS_STATUS[status]]),
  ...(to === undefined
    ? []
    : [sql`id in (select message_id from messaging_recipients where address = ${keyOf(to)})`]),
  ...(q === undefined ? [] : [searchSql(q)]),
  // An id begins with the time of its creation.
  ...(since === undefined ? [] : [sql`id >= ${leastIdOf(since)}`]),
  ...(until === undefined ? [] : [sql`id < ${leastIdOf(until)}`]),
]

/**
 * Deletes messages in a final state with their recipients, in batches, so that other writes need not wait.
 *
 * @param before milliseconds since 1970; messages created earlier are deleted
 */
export async function forgetMessages(db: Database, before: number): Promise<void> {
  for (;;) {
    // Materialized, because PostgreSQL may otherwise run the inner query, with its limit, more than once.
    const rows = await db.write(sql`
      with old as materialized (
        select id from messaging_messages
        where id < ${leastIdOf(before)} and status not in ('queued', 'sending') order by id limit ${BATCH})
      delete from messaging_messages where id in (select id from old) returning id`)
    if (rows.length < BATCH) return
  }
}

/**
 * Deletes the content of failed messages, in one statement: they are few.
 *
 * @param before milliseconds since 1970; that of messages created earlier is deleted
 */
export async function forgetFailedContent(db: Database, before: number): Promise<void> {
  await db.write(sql`
    update messaging_messages set payload = null
    where id < ${leastIdOf(before)} and status = 'failed' and payload is not null`)
}
