import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

import type { Logger } from '../../../server/src/base/logger.ts'
import type { Clock } from '../../../server/src/base/clock.ts'
import { isSameSecret } from '../../../server/src/base/crypto.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { sql, type Sql } from '../../../server/src/db/sql.ts'
import { faulty, type ProviderFault, type Faults } from '../faults.ts'
import { formOf, takeForms } from '../forms.ts'
import { cancelIntent, expire } from './cancellations.ts'
import type { StripeChange, Changes } from './change.ts'
import { closeDispute, updateDispute } from './disputes.ts'
import {
  createAnswerError,
  errorBody,
  invalidParameter,
  missing,
  statusError,
  StripeError,
} from './errors.ts'
import { expand, listOf } from './expand.ts'
import type { IdempotentCalls } from './idempotency.ts'
import { newObjectId } from './object-id.ts'
import {
  balances,
  find,
  list,
  positionOf,
  type StripeObjectFilter,
  type StripeObjectKind,
  type Reads,
} from './objects.ts'
import { StripeParameters } from './parameters.ts'
import { createSession } from './payments.ts'
import { createRefund, settleRefund } from './refunds.ts'
import { API_VERSION, type StripeAccount, type StripeBalance } from './stripe-types.ts'

const LIST_DEFAULT = 10
const LIST_MAX = 100

export type CardpayApiOptions = {
  db: Database
  clock: Clock
  log: Logger
  faults: Faults
  changes: Changes
  calls: IdempotentCalls
  /** The address of the API, without `/v1`. */
  address: string
  secretKey: string
  /** The address of a session's page. */
  pageOf: (sessionId: string) => string
  /** Ends the sessions whose time is over. */
  expireOverdue: () => Promise<void>
}

const WORDS: Readonly<Record<StripeObjectKind, string>> = {
  session: 'checkout.session',
  payment_intent: 'payment_intent',
  charge: 'charge',
  refund: 'refund',
  dispute: 'dispute',
  event: 'event',
  balance_transaction: 'balance_transaction',
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

/** `created=…`, or `created[gte]=…` and so on. */
function readCreated(params: StripeParameters, form: URLSearchParams): Sql[] {
  if (form.has('created')) return [sql`created = ${params.integer('created') ?? 0}`]
  const range = params.child('created')
  if (!range) return []
  return Object.entries(OPERATORS).flatMap(([name, operator]) => {
    const time = range.integer(name)
    return time === undefined ? [] : [sql`created ${sql.literal(operator)} ${time}`]
  })
}

/** Credentials of a call: the key as a bearer token, or as the user name of Basic. */
function keyOf(authorization = ''): string {
  const [scheme = '', value = ''] = authorization.split(' ', 2)
  if (/^bearer$/i.test(scheme)) return value
  if (!/^basic$/i.test(scheme)) return ''
  return Buffer.from(value, 'base64').toString().split(':', 1)[0]!
}

type Context = {
  params: StripeParameters
  form: URLSearchParams
  id: string
  path: string
  paths: readonly string[]
}
type Read = (reads: Reads, context: Context) => Promise<unknown>
type Write = (change: StripeChange, context: Context) => Promise<unknown>

const pathOf = ({ url }: FastifyRequest): string => {
  const [path] = url.split('?', 1) as [string]
  return path.slice(path.indexOf('/v1/'))
}

function contextOf(request: FastifyRequest, form: URLSearchParams): Context {
  const params = new StripeParameters(form)
  const { id = '' } = request.params as { id?: string }
  return { params, form, id, path: pathOf(request), paths: params.texts('expand') }
}

const refuse = (status: number): never => {
  throw statusError(status)
}

function read(engine: FastifyInstance, options: CardpayApiOptions, path: string, handle: Read): void {
  const { db, faults, expireOverdue } = options
  engine.get(
    path,
    faulty(faults, 'cardpay', refuse, async (request) => {
      await expireOverdue()
      const context = contextOf(request, new URL(request.url, 'http://here').searchParams)
      const answer = await handle(db, context)
      context.params.end()
      return expand(db, answer, context.paths)
    }),
  )
}

/** Performs a change, and stores its answer in the same transaction. */
async function perform(
  { db, changes, calls, address }: CardpayApiOptions,
  request: FastifyRequest,
  context: Context,
  write: Write,
  {
    requestId,
    call,
    fault,
  }: { requestId: string; call: { key: string; owner: string } | undefined; fault: ProviderFault },
): Promise<string> {
  const origin = { requestId, idempotencyKey: call?.key, callback: fault.callback }
  try {
    return await changes.run(origin, async (change) => {
      const answer = await write(change, contextOf(request, context.form))
      const body = JSON.stringify(await expand(change.tx, answer, context.paths))
      if (call) await calls.store(change.tx, call.key, call.owner, { status: 200, body })
      return body
    })
  } catch (error) {
    if (call && error instanceof StripeError && error.isStored) {
      const body = JSON.stringify(errorBody(error, { address, requestId }))
      await db.transaction((tx) => calls.store(tx, call.key, call.owner, { status: error.status, body }))
    }
    throw error
  }
}

async function send(reply: FastifyReply, body: string, status = 200): Promise<FastifyReply> {
  return reply.code(status).header('content-type', 'application/json').send(body)
}

function write(engine: FastifyInstance, options: CardpayApiOptions, path: string, handle: Write): void {
  const { faults, calls, expireOverdue } = options
  const performing = (call?: { key: string; owner: string }) =>
    faulty(faults, 'cardpay', refuse, async (request, reply, fault) => {
      await expireOverdue()
      const context = contextOf(request, formOf(request.body))
      const requestId = String(reply.getHeader('request-id'))
      const body = await perform(options, request, context, handle, { requestId, call, fault })
      return fault.loseAnswer ? undefined : send(reply, body)
    })
  const withoutKey = performing()
  engine.post(path, async function answer(request, reply) {
    const key = request.headers['idempotency-key']
    if (typeof key !== 'string' || key === '') return withoutKey.call(this, request, reply)
    const content = `${request.method} ${pathOf(request)} ${formOf(request.body).toString()}`
    reply.header('idempotency-key', key)
    const reserved = await calls.reserve(key, content, String(reply.getHeader('request-id')))
    if ('replay' in reserved) {
      reply.headers({ 'idempotent-replayed': 'true', 'original-request': reserved.replay.requestId })
      return send(reply, reserved.replay.body, reserved.replay.status)
    }
    const call = { key, owner: reserved.owner }
    try {
      return await performing(call).call(this, request, reply)
    } catch (error) {
      await calls.release(key, reserved.owner)
      throw error
    }
  })
}

const retrieve =
  (kind: StripeObjectKind): Read =>
  async (reads, { id }) => {
    const stored = await find(reads, kind, id)
    if (!stored) throw missing(WORDS[kind], id, kind === 'payment_intent' ? 'intent' : 'id')
    return stored.object
  }

const listAll =
  (kind: StripeObjectKind, filterOf: (context: Context) => StripeObjectFilter = () => ({})): Read =>
  async (reads, context) => {
    const { params, form, path } = context
    const limit = params.integer('limit', { least: 1, most: LIST_MAX }) ?? LIST_DEFAULT
    const filter = { created: readCreated(params, form), ...filterOf(context) }
    const [after, before] = await Promise.all(
      ['starting_after', 'ending_before'].map(async (name) => {
        const id = params.text(name)
        if (id === undefined) return undefined
        const position = await positionOf(reads, kind, id)
        if (position === undefined)
          throw invalidParameter(name, `No such ${WORDS[kind]}: '${id.slice(0, 100)}'`, 'resource_missing')
        return position
      }),
    )
    if (after !== undefined && before !== undefined)
      throw invalidParameter(
        'ending_before',
        'You may only specify one of these parameters: starting_after, ending_before.',
        'parameters_exclusive',
      )
    const objects = await list(reads, kind, filter, { limit: limit + 1, after, before })
    const page = before === undefined ? objects.slice(0, limit) : objects.slice(-limit)
    return listOf(
      path,
      page.map(({ object }) => object),
      objects.length > limit,
    )
  }

const ofPayment = ({ params }: Context): StripeObjectFilter => ({
  paymentIntent: params.text('payment_intent'),
  charge: params.text('charge'),
})

/** `type` may end in `.*`; `types` is a list. */
function ofTypes({ params }: Context): StripeObjectFilter {
  const [type, types] = [params.text('type'), params.texts('types')]
  params.ignore('delivery_success')
  if (type !== undefined && types.length > 0)
    throw invalidParameter(
      'types',
      'You may only specify one of these parameters: type, types.',
      'parameters_exclusive',
    )
  if (type?.endsWith('.*')) return { typePrefix: type.slice(0, -1) }
  const wantedTypes = type === undefined ? types : [type]
  return wantedTypes.length > 0 ? { types: wantedTypes } : {}
}

const lineItems: Read = async (reads, { id, params, path }) => {
  const stored = await find(reads, 'session', id)
  if (!stored) throw missing(WORDS.session, id)
  const limit = params.integer('limit', { least: 1, most: LIST_MAX }) ?? LIST_DEFAULT
  const after = params.text('starting_after')
  const items = stored.details.items ?? []
  const from = after === undefined ? 0 : items.findIndex((item) => item.id === after) + 1
  return listOf(path, items.slice(from, from + limit), items.length > from + limit)
}

const balance: Read = async (reads): Promise<StripeBalance> => ({
  object: 'balance',
  available: (await balances(reads)).map((one) => ({ ...one, source_types: { card: one.amount } })),
  livemode: false,
  pending: [],
})

const accountAt = (clock: Clock): StripeAccount => ({
  id: 'acct_sandbox',
  object: 'account',
  business_type: 'company',
  charges_enabled: true,
  country: 'US',
  created: Math.floor(clock.now() / 1000),
  default_currency: 'usd',
  details_submitted: true,
  email: null,
  metadata: {},
  payouts_enabled: true,
  type: 'standard',
})

/** A change that takes no parameters. */
const plain =
  (work: (change: StripeChange, id: string) => Promise<unknown>): Write =>
  (change, { params, id }) => {
    params.end()
    return work(change, id)
  }

/**
 * Stripe's API, as far as a shop with hosted checkout needs it.
 *
 * @see https://docs.stripe.com/api
 */
export const createCardpayApi = (options: CardpayApiOptions): FastifyPluginAsync => {
  const { clock, log, address, secretKey, pageOf } = options
  const create: Write = (change, { params }) => createSession(change, params, pageOf)

  return async (engine) => {
    engine.removeAllContentTypeParsers()
    takeForms(engine)
    engine.setErrorHandler(createAnswerError({ log }, { address }))
    engine.setNotFoundHandler((request) => {
      throw statusError(
        404,
        `Unrecognized request URL (${request.method}: ${pathOf(request).slice(0, 200)}).`,
      )
    })
    engine.addHook('onRequest', async ({ headers }, reply) => {
      const version = headers['stripe-version']
      reply.headers({
        'request-id': newObjectId('request'),
        'stripe-version':
          typeof version === 'string' && /^[\w.;=-]{1,100}$/.test(version) ? version : API_VERSION,
      })
      const key = keyOf(headers.authorization)
      if (key === '')
        throw statusError(
          401,
          "You did not provide an API key: send it in the Authorization header, as 'Bearer KEY'.",
        )
      if (!isSameSecret(key, secretKey)) throw statusError(401, 'Invalid API Key provided.')
    })
    read(engine, options, '/checkout/sessions', listAll('session', ofPayment))
    write(engine, options, '/checkout/sessions', create)
    read(engine, options, '/checkout/sessions/:id', retrieve('session'))
    read(engine, options, '/checkout/sessions/:id/line_items', lineItems)
    write(engine, options, '/checkout/sessions/:id/expire', plain(expire))
    read(engine, options, '/payment_intents', listAll('payment_intent'))
    read(engine, options, '/payment_intents/:id', retrieve('payment_intent'))
    write(engine, options, '/payment_intents/:id/cancel', (change, { params, id }) =>
      cancelIntent(change, id, params),
    )
    read(engine, options, '/charges', listAll('charge', ofPayment))
    read(engine, options, '/charges/:id', retrieve('charge'))
    read(engine, options, '/refunds', listAll('refund', ofPayment))
    write(engine, options, '/refunds', (change, { params }) => createRefund(change, params))
    read(engine, options, '/refunds/:id', retrieve('refund'))
    write(
      engine,
      options,
      '/refunds/:id/cancel',
      plain((change, id) => settleRefund(change, id, 'canceled')),
    )
    read(engine, options, '/disputes', listAll('dispute', ofPayment))
    read(engine, options, '/disputes/:id', retrieve('dispute'))
    write(engine, options, '/disputes/:id', (change, { params, id }) => updateDispute(change, id, params))
    write(engine, options, '/disputes/:id/close', plain(closeDispute))
    read(engine, options, '/events', listAll('event', ofTypes))
    read(engine, options, '/events/:id', retrieve('event'))
    read(engine, options, '/balance', balance)
    read(engine, options, '/balance_transactions', listAll('balance_transaction'))
    read(engine, options, '/balance_transactions/:id', retrieve('balance_transaction'))
    read(engine, options, '/account', async () => accountAt(clock))
  }
}
