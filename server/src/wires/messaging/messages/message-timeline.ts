import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { newestIdsSql, type TimelinePart } from '../../../kernel/wire/timeline.ts'

const CHANNELS: Readonly<Record<string, string>> = {
  email: 'Email',
  sms: 'SMS',
  whatsapp: 'WhatsApp message',
}

/** Messages to a person, and those that the person sent. */
export const messageTimeline = ({ db }: { db: Database }): TimelinePart[] => [
  {
    name: 'messages',
    async read({ id, emails, phones }, page) {
      const own = newestIdsSql('messaging_messages', [sql`owner = ${id}`], page)
      const received = [...emails, ...phones].map(
        (address) =>
          sql` union ${newestIdsSql('messaging_recipients', [sql`address = ${address}`], page, 'message_id')}`,
      )
      const rows = await db.scan<{
        id: string
        channel: string
        subject: string | null
        template: string | null
        status: string
        created_at: number
      }>(sql`
        select id, channel, subject, template, status, created_at from messaging_messages
        where id in (${own}${sql.join(received, ' ')}) order by id desc limit ${page.limit}`)
      return rows.map((row) => ({
        key: row.id,
        at: row.created_at,
        text: CHANNELS[row.channel] ?? row.channel,
        ...((row.subject ?? row.template) !== null && { detail: (row.subject ?? row.template)! }),
        state: row.status,
        opens: `messages/${row.id}`,
      }))
    },
  },
]
