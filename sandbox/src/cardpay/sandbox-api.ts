import type { FastifyPluginAsync } from 'fastify'

import { Type } from '../../../server/src/base/schema.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { readerOf } from '../reader.ts'
import { expire } from './cancellations.ts'
import type { StripeChange, Changes, Origin } from './change.ts'
import { decideDispute, DISPUTE_REASONS, openDispute } from './disputes.ts'
import { errorBody, invalidParameter, missing, StripeError, wrongState } from './errors.ts'
import { find } from './objects.ts'
import { listPayments } from './payment-list.ts'
import { pay, settle, type PaymentAttempt } from './payments.ts'
import { refundCharge, settleRefund } from './refunds.ts'
import { bankDebitOf } from './checkout-session.ts'
import { DEFAULT_CARD, isCardNumber } from './test-cards.ts'

const OUTCOMES = ['paid', 'declined', 'authentication_failed', 'processing'] as const

/** Makes the function that reads an optional body. */
function createBodyReader<S extends Parameters<typeof readerOf>[1]>(schema: S) {
  const readBody = readerOf('body', schema)
  return (body: unknown) => readBody(body ?? {})
}

const readPay = createBodyReader(
  Type.Object({
    card: Type.Optional(Type.String({ description: 'The number of a card. Default 4242424242424242.' })),
    outcome: Type.Optional(
      Type.Enum(OUTCOMES, {
        description: 'Instead of what the card does; `processing` is a bank debit, which is paid later.',
      }),
    ),
  }),
)
const readSettled = createBodyReader(Type.Object({ succeeded: Type.Boolean() }))
const readRefund = createBodyReader(Type.Object({ amount: Type.Optional(Type.Integer({ minimum: 1 })) }))
const readDispute = createBodyReader(
  Type.Object({
    reason: Type.Optional(Type.Enum(DISPUTE_REASONS, { description: 'Default: fraudulent.' })),
    amount: Type.Optional(
      Type.Integer({ minimum: 1, description: 'In minor units. Default: all that is left.' }),
    ),
  }),
)
const readDecision = createBodyReader(
  Type.Object({ outcome: Type.Enum(['won', 'lost'], { description: 'For whom the bank decides.' }) }),
)
const readRefundEnd = createBodyReader(
  Type.Object({ status: Type.Enum(['succeeded', 'failed'], { description: 'What becomes of the refund.' }) }),
)

/** The charge that paid a session. */
async function chargeOf(change: StripeChange, sessionId: string): Promise<string> {
  const { object: session } = await change.lock('session', sessionId)
  if (session.payment_status !== 'paid')
    throw wrongState('This Checkout Session is not paid.', 'checkout_session_unexpected_state')
  const { object: intent } = await change.lock('payment_intent', session.payment_intent as string)
  return intent.latest_charge as string
}

/** A card that needs authentication passes it: nobody is there to ask. */
async function payAtOnce(
  change: StripeChange,
  id: string,
  { card = DEFAULT_CARD, outcome }: { card?: string; outcome?: (typeof OUTCOMES)[number] },
): Promise<PaymentAttempt> {
  if (outcome === 'processing') {
    const stored = await find(change.tx, 'session', id)
    if (!stored) throw missing('checkout.session', id)
    const debit = bankDebitOf(stored.object)
    if (debit === undefined)
      throw invalidParameter(
        'outcome',
        `This Checkout Session offers no bank debit: it is in ${stored.object.currency}.`,
      )
    return pay(change, id, { debit })
  }
  const number = card.replaceAll(/[\s-]/g, '')
  if (!isCardNumber(number))
    throw invalidParameter('card', 'Your card number is incorrect.', 'incorrect_number')
  const attempt = await pay(change, id, { card: number }, { outcome })
  return attempt.result === 'authentication'
    ? pay(change, id, { card: number }, { outcome: 'paid' })
    : attempt
}

/**
 * `/sandbox/api/cardpay`: payments, and what a buyer, a bank or the merchant's dashboard does. Refusals are Stripe's errors.
 *
 * @param originOf where a change comes from: the fault that is in force for webhooks
 * @param expireOverdue ends the sessions whose time is over
 */
export const createSandboxApi =
  (
    { db, changes }: { db: Database; changes: Changes },
    { originOf, expireOverdue }: { originOf: () => Promise<Origin>; expireOverdue: () => Promise<void> },
  ): FastifyPluginAsync =>
  async (engine) => {
    engine.setErrorHandler((error, _request, reply) => {
      if (!(error instanceof StripeError)) throw error
      return reply.code(error.status).send(errorBody(error))
    })

    function post<B>(
      path: string,
      read: (body: unknown) => B,
      work: (change: StripeChange, id: string, body: B) => Promise<unknown>,
    ): void {
      engine.post<{ Params: { id: string } }>(`/api/cardpay${path}`, async ({ params: { id }, body }) => {
        const input = read(body)
        await expireOverdue()
        return changes.run(await originOf(), (change) => work(change, id, input))
      })
    }

    engine.get('/api/cardpay', async () => {
      await expireOverdue()
      return { payments: await listPayments(db) }
    })

    engine.post<{ Params: { id: string } }>(
      '/api/cardpay/sessions/:id/pay',
      async ({ params: { id }, body }) => {
        const input = readPay(body)
        await expireOverdue()
        const attempt = await changes.run(await originOf(), (change) => payAtOnce(change, id, input))
        // A declined charge stays, so the error is no reason to roll back.
        if (attempt.result === 'declined') throw attempt.error
        return attempt.session
      },
    )
    post('/sessions/:id/expire', () => undefined, expire)
    post('/sessions/:id/settle', readSettled, (change, id, { succeeded }) => settle(change, id, succeeded))
    post('/sessions/:id/refund', readRefund, async (change, id, { amount }) =>
      refundCharge(change, await chargeOf(change, id), { amount }),
    )
    post('/sessions/:id/dispute', readDispute, async (change, id, { reason = 'fraudulent', amount }) =>
      openDispute(change, await chargeOf(change, id), { reason, isInquiry: false, amount }),
    )
    post('/disputes/:id/close', readDecision, (change, id, { outcome }) => decideDispute(change, id, outcome))
    post('/refunds/:id/settle', readRefundEnd, (change, id, { status }) => settleRefund(change, id, status))
  }
