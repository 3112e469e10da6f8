import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

import type { Clock } from '../../../server/src/base/clock.ts'
import type { Database } from '../../../server/src/db/database.ts'
import type { ProviderFault, FaultyHandler } from '../faults.ts'
import { malformed, notFound, type Link } from './errors.ts'
import { EVENT_TYPES, findEvent, listEvents, type PaypalEvent } from './events.ts'
import { readObject } from './order-request.ts'
import { isSigned } from './signature.ts'
import type { WalletProvider } from './wallet.ts'

type Params = { id: string }

const PAGE_DEFAULT = 10
const PAGE_MAX = 300
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const VERIFIED_FIELDS = [
  'auth_algo',
  'cert_url',
  'transmission_id',
  'transmission_sig',
  'transmission_time',
  'webhook_id',
] as const

export const queryOf = (url: string): URLSearchParams => new URLSearchParams(url.split('?', 2)[1] ?? '')

/** A time of a query, in milliseconds. */
function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const time = DATE_TIME.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(time))
    throw malformed('INVALID_PARAMETER_SYNTAX', `${name} must be an RFC 3339 time.`, name)
  return time
}

/** The number of items on a page. */
function pageSizeOf(query: URLSearchParams, largest: number): number {
  const text = query.get('page_size') ?? String(PAGE_DEFAULT)
  const size = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (size < 1 || size > largest)
    throw malformed('INVALID_PARAMETER_VALUE', `page_size must be from 1 to ${largest}.`, 'page_size')
  return size
}

const bodyOf = ({ body }: PaypalEvent): Record<string, unknown> => JSON.parse(body) as Record<string, unknown>

/**
 * PayPal's webhooks: its events, and the check of a signature.
 *
 * @see https://developer.paypal.com/docs/api/webhooks/v1/
 */
export function addNotificationRoutes(
  engine: FastifyInstance,
  options: {
    db: Database
    wallet: WalletProvider
    clock: Clock
    answering: (handle: FaultyHandler) => RouteHandlerMethod
  },
): void {
  const { db, wallet, clock, answering } = options
  const { address } = wallet
  const { link } = wallet.resources

  async function list({ url }: FastifyRequest) {
    const query = queryOf(url)
    const limit = pageSizeOf(query, PAGE_MAX)
    const [since, until] = [timeOf(query, 'start_time'), timeOf(query, 'end_time')]
    const [type, before] = [query.get('event_type'), query.get('before')]
    const events = await listEvents(
      db,
      {
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(type !== null && { type }),
        ...(before !== null && { before }),
        limit: limit + 1,
      },
      clock.now(),
    )
    const page = events.slice(0, limit)
    const pageLink = (rel: string, cursor?: string): Link => {
      const parameters = new URLSearchParams(query)
      if (cursor !== undefined) parameters.set('before', cursor)
      return link(rel, `/v1/notifications/webhooks-events?${parameters.toString()}`)
    }
    return {
      events: page.map(bodyOf),
      count: page.length,
      links: [pageLink('self'), ...(events.length > limit ? [pageLink('next', page.at(-1)!.sequence)] : [])],
    }
  }

  async function eventOf({ params }: FastifyRequest): Promise<PaypalEvent> {
    const event = await findEvent(db, (params as Params).id, clock.now())
    if (!event) throw notFound()
    return event
  }

  async function resend(request: FastifyRequest, reply: FastifyReply, fault: ProviderFault) {
    const event = await eventOf(request)
    if (wallet.webhookId() !== undefined) await wallet.keys.get()
    await db.batch(wallet.sendSql([event], fault.callback))
    reply.code(202)
    return bodyOf(event)
  }

  async function verify({ body }: FastifyRequest) {
    const input = readObject(body, '')
    const texts = VERIFIED_FIELDS.map((name) => {
      const value = input[name]
      if (value === undefined)
        throw malformed('MISSING_REQUIRED_PARAMETER', `${name} is required.`, `/${name}`)
      if (typeof value !== 'string')
        throw malformed('INVALID_PARAMETER_SYNTAX', `${name} must be a string.`, `/${name}`)
      return value
    })
    const [algorithm, certUrl, id, signature, time, webhookId] = texts as [
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    if (input['webhook_event'] === undefined)
      throw malformed('MISSING_REQUIRED_PARAMETER', 'webhook_event is required.', '/webhook_event')
    // Events are sent as `JSON.stringify` writes them, so one that was not altered is written the same again.
    const event = JSON.stringify(readObject(input['webhook_event'], '/webhook_event'))
    const key = await wallet.keys.get()
    const isRight =
      webhookId === wallet.webhookId() &&
      isSigned(key, { address, webhookId, body: event, id, time, signature, certUrl, algorithm })
    return { verification_status: isRight ? 'SUCCESS' : 'FAILURE' }
  }

  async function listWebhooks() {
    const id = wallet.webhookId()
    if (id === undefined) return { webhooks: [] }
    return {
      webhooks: [
        {
          id,
          url: wallet.webhookUrl,
          event_types: EVENT_TYPES.map((name) => ({ name })),
          links: [link('self', `/v1/notifications/webhooks/${id}`)],
        },
      ],
    }
  }

  const root = '/v1/notifications'
  engine.get(`${root}/webhooks-events`, answering(list))
  engine.get(
    `${root}/webhooks-events/:id`,
    answering(async (request) => bodyOf(await eventOf(request))),
  )
  engine.post(`${root}/webhooks-events/:id/resend`, answering(resend))
  engine.post(`${root}/verify-webhook-signature`, answering(verify))
  engine.get(`${root}/webhooks`, answering(listWebhooks))
}
