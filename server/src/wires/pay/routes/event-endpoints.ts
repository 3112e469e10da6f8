import type { Static } from 'typebox'

import { errors } from '../../../base/errors.ts'
import { idPattern } from '../../../base/ids.ts'
import { Type } from '../../../base/schema.ts'
import { timeOf } from '../../../base/time-text.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import type { WireContext } from '../../../kernel/wire/wire.ts'
import { payErrors } from '../errors.ts'
import { EVENT_STATES, type PaymentEvents } from '../inbox/provider-events.ts'
import { Timestamp } from './schemas.ts'
import { getEvent, listEvents, replayEvent, type InboxQuery } from '../administration/event-inbox.ts'

const OPERATION_PROVIDERS = ['cardpay', 'walletpay'] as const

const EventFields = {
  _id: Type.String(),
  provider: Type.Enum(OPERATION_PROVIDERS),
  eventId: Type.String({ description: 'The provider’s id.' }),
  type: Type.String({ description: 'The provider’s word.', examples: ['checkout.session.completed'] }),
  state: Type.Enum(EVENT_STATES, {
    description:
      'pending until it is handled; done; ignored if it is of a kind that is not used, or about nothing of this server; failed.',
  }),
  reason: Type.Optional(Type.String({ description: 'Why it is ignored or failed.' })),
  transactionId: Type.Optional(Type.String({ description: 'The transaction that it is about.' })),
  attempts: Type.Integer({ description: 'How often it was handled.' }),
  receivedAt: Timestamp,
  nextAttemptAt: Type.Optional(
    Type.String({ format: 'date-time', description: 'When it is handled next; absent: not again.' }),
  ),
}
const ProviderEventItem = Type.Object(EventFields, { title: 'PaymentProviderEvent' })

const ProviderEventDetails = Type.Object(
  {
    ...EventFields,
    subject: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The ids by which the payment is found; absent for a kind that is not used.',
      }),
    ),
    payload: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'What the provider sent, without what may be personal or secret, which is ***. Absent if the event was read from the provider’s list, or is large.',
      }),
    ),
  },
  { title: 'PaymentProviderEventDetails' },
)

const OneEvent = Type.Object({
  id: Type.String({ pattern: idPattern, examples: ['01arz3ndektsv4rrffq69g5fav'] }),
})

const FILTERS = Type.Object({
  provider: Type.Optional(Type.Enum(OPERATION_PROVIDERS)),
  state: Type.Optional(Type.Enum(EVENT_STATES)),
  type: Type.Optional(Type.String({ maxLength: 255, description: 'The whole type.' })),
  eventId: Type.Optional(Type.String({ maxLength: 255, description: 'The provider’s id.' })),
  transactionId: Type.Optional(Type.String({ maxLength: 64 })),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Received at this time or later.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Received before this time.' })),
})

function filtersOf(query: Static<typeof FILTERS>): InboxQuery {
  const { provider, state, type, eventId, transactionId, from, to } = query
  return {
    ...(provider !== undefined && { provider }),
    ...(state !== undefined && { state }),
    ...(type !== undefined && { type }),
    ...(eventId !== undefined && { eventId }),
    ...(transactionId !== undefined && { transactionId }),
    ...(from !== undefined && { from: timeOf(from, '/query/from') }),
    ...(to !== undefined && { to: timeOf(to, '/query/to') }),
  }
}

/** The endpoints of the events that providers sent. */
export function eventEndpoints({
  context: { db, clock, audit },
  events,
}: {
  context: Pick<WireContext, 'db' | 'clock' | 'audit'>
  events: PaymentEvents
}) {
  return {
    list: endpoint(
      {
        summary: 'List events of payment providers',
        description: 'Newest first. They are kept for 90 days.',
        access: 'operator',
        readsOnly: true,
        query: Type.Object({ ...PageQuery, ...FILTERS.properties }),
        reply: {
          200: Type.Object(
            { events: Type.Array(ProviderEventItem), ...PageReply },
            { title: 'PaymentProviderEventPage' },
          ),
        },
      },
      async ({ query }) => {
        const page = pageOf(query)
        const filters = filtersOf(query)
        return { ...(await listEvents(db, filters, page)), limit: page.limit, offset: page.offset }
      },
    ),
    get: endpoint(
      {
        summary: 'Get an event of a payment provider',
        access: 'operator',
        readsOnly: true,
        params: OneEvent,
        reply: { 200: ProviderEventDetails },
        errors: [errors.not_found],
      },
      ({ params: { id } }) => getEvent(db, id),
    ),
    replay: endpoint(
      {
        summary: 'Handle an event of a payment provider again',
        description:
          'The provider is asked what it has of the payment, and only what is new is recorded, so it may be done as often as you like. The answer does not wait for it: read the event until it is not pending.',
        access: 'operator',
        params: OneEvent,
        reply: { 200: ProviderEventDetails },
        errors: [errors.not_found, payErrors.invalid_state],
      },
      async ({ params: { id }, actor }) => {
        await replayEvent({ db, now: clock.now() }, id, [
          audit.entrySql(actor, { action: 'payment-event.replayed', target: `payment-event:${id}` }),
        ])
        const event = await getEvent(db, id)
        void events.handleDue()
        return event
      },
    ),
  }
}
