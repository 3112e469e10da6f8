import { Type } from '../../../base/schema.ts'

const Timestamp = (description: string) => Type.String({ format: 'date-time', description })

const ENTRY_KINDS = ['status', 'call', 'object', 'event', 'receipt'] as const

/** What `GET /pay/transactions/:id/timeline` answers: see `TimelineEntry` for the fields of each kind. */
export const TransactionTimeline = Type.Object(
  {
    entries: Type.Array(
      Type.Object(
        {
          at: Timestamp('When it happened, or was seen here; of a receipt the time of its block.'),
          kind: Type.Enum(ENTRY_KINDS, {
            description:
              'status: the status changed; call: this server called the provider; object: something was seen at the provider; event: the provider sent an event; receipt: tokens or coin arrived.',
          }),
          status: Type.Optional(Type.String({ description: 'Of kind status: the new status.' })),
          cause: Type.Optional(
            Type.String({ description: 'Of kind status: the request, event or reconciliation.' }),
          ),
          call: Type.Optional(Type.String({ description: 'create, capture or refund.' })),
          callId: Type.Optional(Type.String({ description: 'The idempotency key at the provider.' })),
          object: Type.Optional(
            Type.String({ description: 'session, charge, refund, dispute or reversal.' }),
          ),
          objectId: Type.Optional(Type.String({ description: 'The provider’s id of the object.' })),
          state: Type.Optional(Type.String({ description: 'Of a call, an object or an event.' })),
          amount: Type.Optional(
            Type.String({
              description:
                'The exact decimal in major units; in the smallest unit if currency is not that of the transaction.',
              examples: ['12.30'],
            }),
          ),
          currency: Type.Optional(Type.String()),
          reason: Type.Optional(Type.String({ description: 'Why it was refused, failed or is unknown.' })),
          refundReason: Type.Optional(Type.String({ description: 'Why the payment is refunded.' })),
          createdAt: Type.Optional(Timestamp('When the provider created the object.')),
          id: Type.Optional(Type.String({ description: 'Of an event, for GET /pay/events/:id.' })),
          provider: Type.Optional(Type.String()),
          eventId: Type.Optional(Type.String({ description: 'The provider’s id of an event.' })),
          type: Type.Optional(Type.String({ description: 'Of an event, in the provider’s word.' })),
          chain: Type.Optional(Type.String()),
          block: Type.Optional(Type.Integer()),
          hash: Type.Optional(Type.String({ description: 'Absent: a contract sent coin.' })),
          units: Type.Optional(Type.String({ description: 'Of a receipt, in the smallest unit.' })),
          contract: Type.Optional(Type.String({ description: 'Of the token; absent: the native coin.' })),
        },
        { title: 'TransactionTimelineEntry' },
      ),
    ),
  },
  { title: 'TransactionTimeline' },
)
