import { sql } from '../../../db/sql.ts'
import type { Database } from '../../../db/database.ts'
import { createRecordAggregates } from '../../../kernel/aggregates/record-aggregates.ts'
import { CHANNELS } from '../providers/provider.ts'
import { STATUSES } from './messages.ts'

/** Groups of messages. */
export const createMessageAggregates = ({ db }: { db: Database }) =>
  createRecordAggregates(
    { db },
    {
      records: 'messages',
      title: 'MessageGroup',
      table: sql.literal('messaging_messages'),
      columns: [
        { name: 'status', kind: 'text', value: sql.literal('status'), values: STATUSES },
        { name: 'channel', kind: 'text', value: sql.literal('channel'), values: CHANNELS },
        { name: 'template', kind: 'text', value: sql.literal('template') },
        { name: 'provider', kind: 'text', value: sql.literal('provider') },
        { name: 'owner', kind: 'text', value: sql.literal('owner') },
        { name: 'createdAt', kind: 'time', value: sql.literal('created_at') },
        { name: 'attempts', kind: 'number', value: sql.literal('attempts') },
      ],
      example: { by: { status: 'sent', channel: 'email' }, count: 12, sum: { attempts: 13 } },
    },
  )
