import { errors } from '../../../base/errors.ts'
import { Type } from '../../../base/schema.ts'
import { pageOf, PageQuery, PageReply } from '../../../http/page.ts'
import { endpoint } from '../../../http/route.ts'
import type { WebhookOperations } from './webhooks.ts'
import { Time } from '../schemas.ts'

const STATES = ['waiting', 'delivered', 'failed'] as const

const Webhook = Type.Object(
  {
    name: Type.String(),
    url: Type.String({ description: 'Without its parameters, which may be secret.' }),
    events: Type.Array(Type.String(), { description: 'The types and patterns of the configuration.' }),
    state: Type.Enum(['on', 'off'], {
      description: 'off: it failed for three days, or answered 410. Its events wait.',
    }),
    waiting: Type.Integer({ description: 'Events that are not delivered yet.' }),
    failingSince: Type.Optional(Time),
    offSince: Type.Optional(Time),
    offReason: Type.Optional(Type.String()),
  },
  { title: 'Webhook' },
)

const Delivery = Type.Object(
  {
    _id: Type.String(),
    eventId: Type.String({ description: 'The webhook-id, the same at each webhook and attempt.' }),
    webhook: Type.String(),
    type: Type.String({ examples: ['pay.transaction.completed'] }),
    record: Type.String({ description: 'The id of the record; its events are delivered in order.' }),
    state: Type.Enum(STATES, { description: 'failed: given up after three days.' }),
    attempts: Type.Integer(),
    lastStatus: Type.Optional(Type.Integer({ description: 'The HTTP status of the last answer.' })),
    lastError: Type.Optional(Type.String()),
    nextAttemptAt: Type.Optional(Time),
    deliveredAt: Type.Optional(Time),
    createdAt: Time,
  },
  { title: 'WebhookDelivery' },
)

/** The endpoints of webhooks: what is delivered, and what to do about it. */
export const webhookEndpoints = (webhooks: WebhookOperations) => ({
  list: endpoint(
    {
      summary: 'List webhooks',
      description: 'Those of the configuration, without their secrets.',
      access: 'operator',
      reply: { 200: Type.Object({ webhooks: Type.Array(Webhook) }, { title: 'WebhookList' }) },
    },
    async () => ({ webhooks: await webhooks.list() }),
  ),
  enable: endpoint(
    {
      summary: 'Switch on a webhook',
      description: 'What waits is delivered from now on, in order.',
      access: 'operator',
      params: Type.Object({ name: Type.String({ maxLength: 100, examples: ['shop.example'] }) }),
      reply: { 200: Webhook },
      errors: [errors.not_found],
    },
    ({ params: { name }, actor }) => webhooks.enable(name, actor),
  ),
  deliveries: endpoint(
    {
      summary: 'List webhook deliveries',
      description: 'Newest first. Each is an event for one webhook; they are kept for 30 days.',
      access: 'operator',
      query: Type.Object({
        ...PageQuery,
        state: Type.Optional(Type.Enum(STATES)),
        webhook: Type.Optional(Type.String({ maxLength: 100, description: 'Its name.' })),
        type: Type.Optional(Type.String({ maxLength: 200, examples: ['pay.transaction.completed'] })),
      }),
      reply: {
        200: Type.Object(
          { deliveries: Type.Array(Delivery), ...PageReply },
          { title: 'WebhookDeliveryPage' },
        ),
      },
    },
    async ({ query: { state, webhook, type, ...query } }) => {
      const page = pageOf(query)
      const filter = {
        ...(state !== undefined && { state }),
        ...(webhook !== undefined && { webhook }),
        ...(type !== undefined && { type }),
      }
      return { ...(await webhooks.deliveries(filter, page)), limit: page.limit, offset: page.offset }
    },
  ),
  retry: endpoint(
    {
      summary: 'Send an event again',
      description: 'Also one that was delivered. One that waits for its next attempt is sent now.',
      access: 'operator',
      params: Type.Object({ id: Type.String({ maxLength: 64, examples: ['01arz3ndektsv4rrffq69g5fav'] }) }),
      reply: { 200: Delivery },
      errors: [errors.not_found, errors.conflict],
    },
    ({ params: { id }, actor }) => webhooks.retry(id, actor),
  ),
})
