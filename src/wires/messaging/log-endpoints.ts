import { Type } from '../../base/schema.ts'
import { pageOf, PageQuery, PageReply } from '../../http/page.ts'
import { endpoint } from '../../http/route.ts'
import type { Policy } from '../../kernel/policy.ts'
import { STATUSES, type MessageLog } from './messages.ts'
import { CHANNELS } from './provider.ts'

const LogFields = {
  _id: Type.String(),
  channel: Type.Enum(CHANNELS),
  to: Type.String(),
  subject: Type.Optional(
    Type.String({ description: 'Only of emails that a caller sent, not of those of the service.' }),
  ),
  template: Type.Optional(Type.String()),
  status: Type.Enum(STATUSES),
  messageId: Type.Optional(
    Type.String({ description: 'The provider’s id of the message; absent until a provider accepted it.' }),
  ),
  provider: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
  createdAt: Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' }),
}
const LogEntry = Type.Object(LogFields, { title: 'LogEntry' })
/** The endpoint of the log. @param policy decides which messages a caller may see */
export const logEndpoints = ({ list, policy }: { list: MessageLog; policy: Policy }) => ({
  list: endpoint(
    {
      summary: 'List messages',
      access: 'user',
      query: Type.Object({
        channel: Type.Optional(Type.Enum(CHANNELS)),
        to: Type.Optional(
          Type.String({ description: 'An address or number; recipients in cc and bcc match, too.' }),
        ),
        status: Type.Optional(Type.Enum(STATUSES)),
        ...PageQuery,
      }),
      reply: {
        200: Type.Object(
          {
            logs: Type.Array(LogEntry),
            ...PageReply,
          },
          { title: 'LogEntryPage' },
        ),
      },
    },
    async ({ caller, query }) => {
      const page = pageOf(query)
      return {
        ...(await list(policy.rowFilter(caller), query, page)),
        limit: page.limit,
        offset: page.offset,
      }
    },
  ),
})
