import { isoTime } from '../../base/clock.ts'
import { emailKey } from '../../base/email-address.ts'
import type { Database } from '../../db/database.ts'
import { leastIdOf } from '../../base/ids.ts'
import { sql, type Sql } from '../../db/sql.ts'
import type { Page } from '../../http/page.ts'
import { createCountedList } from '../../kernel/counted-list.ts'
import type { RowFilter } from '../../http/access.ts'
import type { Channel } from './provider.ts'

const BATCH = 500

export const STATUSES = ['queued', 'sending', 'sent', 'failed', 'delivered', 'bounced'] as const
export type Status = (typeof STATUSES)[number]

/** A message as the log shows it: never what was sent. */
export type LogEntry = {
  _id: string
  channel: Channel
  to: string
  /** Of mail that a caller sent. The service's own mail has none here: it may hold a secret. */
  subject?: string
  template?: string
  status: Status
  /** What the provider calls it. */
  messageId?: string
  provider?: string
  error?: string
  createdAt: string
}

/** `to` matches everybody whom a message went to, those in copy as well. */
export type LogQuery = { channel?: Channel; to?: string; status?: Status }

export type LogPage = { logs: LogEntry[]; total: number; nextCursor?: string }

type Row = {
  id: string
  channel: Channel
  recipient: string
  subject: string | null
  template: string | null
  status: Status
  message_id: string | null
  provider: string | null
  error: string | null
  created_at: number
}

/** How an address or number is compared. A plus that was not percent-encoded comes as a blank. */
const keyOf = (to: string): string => emailKey(to).replace(/^(?=\d+$)/, '+')

const entryOf = (row: Row): LogEntry => ({
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

// Literals: an index of some statuses only is not found with a parameter.
const HAS_STATUS = Object.fromEntries(
  STATUSES.map((status) => [status, sql.literal(`status = '${status}'`)]),
) as Record<Status, Sql>

/** Reads a page of the log, newest first. */
export type MessageLog = (rowFilter: RowFilter, query: LogQuery, page: Page) => Promise<LogPage>

export function createMessageLog(db: Database): MessageLog {
  const list = createCountedList<Row>(db, {
    name: 'messaging.messages',
    table: sql.literal('messaging_messages'),
    columns: sql.literal(
      'id, channel, recipient, subject, template, status, message_id, provider, error, created_at',
    ),
  })
  return async (rowFilter, { channel, to, status }, page) => {
    const conditions: Sql[] = [
      ...(channel === undefined ? [] : [sql`channel = ${channel}`]),
      ...(status === undefined ? [] : [HAS_STATUS[status]]),
      ...(to === undefined
        ? []
        : [sql`id in (select message_id from messaging_recipients where address = ${keyOf(to)})`]),
    ]
    const { rows, ...rest } = await list(rowFilter, conditions, page)
    return { logs: rows.map(entryOf), ...rest }
  }
}

/**
 * Deletes settled messages and their recipients, a batch at a time: other writes go in between.
 *
 * @param before those that were made earlier than this, in milliseconds
 */
export async function forgetMessages(db: Database, before: number): Promise<void> {
  for (;;) {
    // Materialized: PostgreSQL may otherwise run the inner query, with its limit, more than once.
    const gone = await db.write(sql`
      with old as materialized (
        select id from messaging_messages
        where id < ${leastIdOf(before)} and status not in ('queued', 'sending') order by id limit ${BATCH})
      delete from messaging_messages where id in (select id from old) returning id`)
    if (gone.length < BATCH) return
  }
}
