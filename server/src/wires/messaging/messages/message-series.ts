import { leastIdOf } from '../../../base/ids.ts'
import type { Database } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'
import { slotsSql, type Series, type SlotValue } from '../../../kernel/wire/series.ts'

const STATES = ['delivered', 'sent', 'sending', 'queued', 'bounced', 'failed'] as const

const STATE_ROWS = sql.literal(`states (status) as (values ${STATES.map((one) => `('${one}')`).join(', ')})`)

/** Messages by the state that they have now and the time of their creation, which their ids hold. */
export const messageSeries = ({ db }: { db: Database }): Series[] => [
  {
    name: 'messages',
    title: 'Messages',
    unit: 'count',
    kind: 'sum',
    parts: STATES,
    opens: 'messages',
    read: (slots) =>
      db.scan<SlotValue>(
        sql.once(sql`
          with ${slotsSql(slots, (ms) => `'${leastIdOf(Math.ceil(ms))}'`)}, ${STATE_ROWS}
          select slot, states.status as part, (
            select count(*) from messaging_messages
            where messaging_messages.status = states.status and id >= begins and id < ends) as value
          from slots cross join states`),
      ),
  },
]
