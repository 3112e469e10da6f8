import { randomBytes } from 'node:crypto'

import { isoTime } from '../../../server/src/base/clock.ts'
import { newId } from '../../../server/src/base/ids.ts'
import { parseJson } from '../../../server/src/base/json.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import type { MagicOutcome } from './magic.ts'
import type { StandInContext } from '../stand-in.ts'

/** A message is `queued` until the first and `sent` until the second; milliseconds since it was accepted. */
export const SENT_MS = 100
export const OUTCOME_MS = 250

/** The number of messages that are kept; the oldest are deleted once they have no pending reports. */
export const MESSAGES_KEPT = 500

export type PhoneChannel = 'sms' | 'whatsapp'

export type PhoneMessage = {
  /** Sorts by time of creation. */
  id: string
  /** Twilio's id of it: `SM…`, or `MM…` if it has media. */
  sid: string
  channel: PhoneChannel
  /** E.164, as `from`. */
  to: string
  from: string
  body: string
  media: string[]
  outcome: MagicOutcome
  errorCode: number | null
  /** Milliseconds since 1970. */
  createdAt: number
}

/** A message as the phone shows it. */
export type ReceivedMessage = {
  id: string
  channel: PhoneChannel
  to: string
  body: string
  media: string[]
  status: 'queued' | 'sent' | MagicOutcome
  /** Twilio's code of the failure; null if there is none. */
  errorCode: number | null
  /** ISO 8601. */
  receivedAt: string
}

export type PhoneFilter = {
  channel?: PhoneChannel
  to?: string
  from?: string
  /** Milliseconds, both inclusive. */
  since?: number
  until?: number
  /** Only messages with a smaller id. */
  before?: string
  limit: number
}

type Row = {
  id: string
  sid: string
  channel: PhoneChannel
  to_number: string
  from_number: string
  body: string
  media: string
  outcome: MagicOutcome
  error_code: number | null
  created_at: number
}

const COLUMNS = sql.literal(
  'id, sid, channel, to_number, from_number, body, media, outcome, error_code, created_at',
)

const messageOf = (row: Row): PhoneMessage => ({
  id: row.id,
  sid: row.sid,
  channel: row.channel,
  to: row.to_number,
  from: row.from_number,
  body: row.body,
  media: parseJson(row.media) as string[],
  outcome: row.outcome,
  errorCode: row.error_code,
  createdAt: row.created_at,
})

/** The status of a message at a time. It follows from its age, so nothing is written when it changes. */
export function statusAt(
  { createdAt, outcome }: PhoneMessage,
  now: number,
): 'queued' | 'sent' | MagicOutcome {
  const age = now - createdAt
  if (age >= OUTCOME_MS) return outcome
  return age >= SENT_MS && outcome !== 'failed' ? 'sent' : 'queued'
}

export type Messages = {
  create(message: Omit<PhoneMessage, 'id' | 'sid' | 'createdAt'>): PhoneMessage
  /** The statements that store a message, for the batch that accepts it. */
  insertSql(message: PhoneMessage): Sql[]
  find(sid: string): Promise<PhoneMessage | undefined>
  /** The newest first. */
  list(filter: PhoneFilter): Promise<PhoneMessage[]>
  /**
   * Messages, the newest first.
   *
   * @param filter.all also those that do not reach the phone
   */
  received(filter: { to?: string | undefined; all?: boolean; limit: number }): Promise<ReceivedMessage[]>
  count(): Promise<number>
}

/**
 * Accepted messages, in the database, so that they survive a restart.
 *
 * @param pendingIds a query for the ids of messages with pending reports
 */
export function createMessages(
  { db, clock }: Pick<StandInContext, 'db' | 'clock'>,
  { pendingIds }: { pendingIds: Sql },
): Messages {
  async function list(where: readonly Sql[], limit: number): Promise<PhoneMessage[]> {
    const rows = await db.scan<Row>(sql`
      select ${COLUMNS} from sandbox_phone_messages
      where ${sql.join([sql.literal('1 = 1'), ...where], ' and ')}
      order by id desc limit ${limit}`)
    return rows.map(messageOf)
  }
  return {
    create(message) {
      const now = clock.now()
      const prefix = message.media.length > 0 ? 'MM' : 'SM'
      return { ...message, id: newId(now), sid: prefix + randomBytes(16).toString('hex'), createdAt: now }
    },
    insertSql: (message) => [
      sql`insert into sandbox_phone_messages (${COLUMNS})
      values (${message.id}, ${message.sid}, ${message.channel}, ${message.to}, ${message.from}, ${message.body},
              ${JSON.stringify(message.media)}, ${message.outcome}, ${message.errorCode}, ${message.createdAt})`,
      sql`delete from sandbox_phone_messages
          where id <= (select id from sandbox_phone_messages order by id desc limit 1 offset ${MESSAGES_KEPT})
            and id <> ${message.id} -- the newest, whatever the clock says
            and id not in (${pendingIds})`,
    ],
    async find(sid) {
      const row = await db.get<Row>(sql`select ${COLUMNS} from sandbox_phone_messages where sid = ${sid}`)
      return row && messageOf(row)
    },
    list({ channel, to, from, since, until, before, limit }) {
      const where: Sql[] = []
      if (channel !== undefined) where.push(sql`channel = ${channel}`)
      if (to !== undefined) where.push(sql`to_number = ${to}`)
      if (from !== undefined) where.push(sql`from_number = ${from}`)
      if (since !== undefined) where.push(sql`created_at >= ${since}`)
      if (until !== undefined) where.push(sql`created_at <= ${until}`)
      if (before !== undefined) where.push(sql`id < ${before}`)
      return list(where, limit)
    },
    async received({ to, all = false, limit }) {
      const where = all ? [] : [sql`outcome = 'delivered'`]
      if (to !== undefined) where.push(sql`to_number = ${to}`)
      const messages = await list(where, limit)
      const now = clock.now()
      return messages.map((message) => {
        const status = statusAt(message, now)
        return {
          id: message.id,
          channel: message.channel,
          to: message.to,
          body: message.body,
          media: message.media,
          status,
          errorCode: status === message.outcome ? message.errorCode : null,
          receivedAt: isoTime(message.createdAt),
        }
      })
    },
    async count() {
      const row = await db.get<{ count: number }>(sql`select count(*) as count from sandbox_phone_messages`)
      return row!.count
    },
  }
}
