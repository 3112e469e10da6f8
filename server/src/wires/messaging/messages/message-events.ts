import { sql, type Sql } from '../../../db/sql.ts'
import type { Step } from '../../../db/database.ts'
import type { Events } from '../../../kernel/events/events.ts'
import { entryOf, MESSAGE_COLUMNS, type MessageRow, type MessageStatus } from './messages.ts'

/** What is published of messages: each as the log shows it, without its content. */
export type MessageEvents = {
  createdSql(id: string): readonly Step[]
  /**
   * The steps behind those that may have given messages a final state.
   *
   * @param where which ones; of them those count that have this state since `now`
   */
  endedSql(status: FinalStatus, where: Sql, now: number): readonly Step[]
}

export type FinalStatus = Exclude<MessageStatus, 'queued' | 'sending'>

export function createMessageEvents(events: Events): MessageEvents {
  const changes = events.define('messaging.message', {
    verbs: ['created', 'sent', 'failed', 'delivered', 'bounced'],
    table: sql.literal('messaging_messages'),
    columns: MESSAGE_COLUMNS,
    data: (row: MessageRow) => entryOf(row),
  })
  return {
    createdSql: (id) => changes.publishSql('created', sql`id = ${id}`, { once: sql`'created:' || id` }),
    endedSql: (status, where, now) =>
      changes.publishSql(status, sql`${where} and status = ${status} and updated_at = ${now}`, {
        once: sql`status || ':' || id || ':' || cast(updated_at as text)`,
      }),
  }
}
