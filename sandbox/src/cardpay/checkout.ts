import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'

import type { Clock } from '../../../server/src/base/clock.ts'
import type { Database } from '../../../server/src/db/database.ts'
import { formOf, takeForms } from '../forms.ts'
import { sendPage } from '../provider-page.ts'
import type { Changes, Origin } from './change.ts'
import {
  authenticationPage,
  DEFAULT_FIELDS,
  endedPage,
  payPage,
  type CardFields,
  type PageFrame,
  type PayError,
} from './checkout-page.ts'
import { bankDebitOf } from './checkout-session.ts'
import { StripeError } from './errors.ts'
import { find, type StoredStripeObject } from './objects.ts'
import { authenticate, pay, type PaymentAttempt } from './payments.ts'
import type { PaymentIntent, StripeSession } from './stripe-types.ts'
import { isCardNumber } from './test-cards.ts'

export type CheckoutOptions = PageFrame & {
  db: Database
  clock: Clock
  changes: Changes
  originOf: () => Promise<Origin>
  expireOverdue: () => Promise<void>
}

const FIELD_MAX = 200
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

const emailError = (email: string): PayError | undefined =>
  EMAIL.test(email) ? undefined : { field: 'email', message: 'Your email address is incomplete.' }

/** What the form shows at first. */
const fieldsOf = ({ customer_email: email }: StripeSession): CardFields => ({
  ...DEFAULT_FIELDS,
  ...(email !== null && { email }),
})

/**
 * What is wrong with the fields of the form; undefined if nothing is.
 *
 * @param now milliseconds since 1970
 */
function fieldError({ email, number, expiry, cvc }: CardFields, now: number): PayError | undefined {
  const wrongEmail = emailError(email)
  if (wrongEmail) return wrongEmail
  if (!isCardNumber(number)) return { field: 'number', message: 'Your card number is invalid.' }
  const [, month = '', year = ''] = /^(0?[1-9]|1[0-2])\s*\/?\s*(?:20)?(\d\d)$/.exec(expiry.trim()) ?? []
  if (month === '')
    return {
      field: 'expiry',
      message: "Your card's expiration date is incomplete: write it as 12 / 34.",
    }
  if (Date.UTC(2000 + Number(year), Number(month)) <= now)
    return { field: 'expiry', message: "Your card's expiration date is in the past." }
  return /^\d{3,4}$/.test(cvc.trim())
    ? undefined
    : { field: 'cvc', message: "Your card's security code is incomplete." }
}

/** The field that a card was declined for; every other reason is one of the card. */
const DECLINED_FIELDS: Readonly<Record<string, keyof CardFields>> = {
  card_declined: 'number',
  expired_card: 'expiry',
  incorrect_cvc: 'cvc',
}

/** An address as a header can hold it: it may be written in any script. */
const hrefOf = (url: string): string => new URL(url).href

/** Where the browser goes after paying. */
const successUrlOf = ({ success_url: url, id }: StripeSession): string =>
  hrefOf(url!.replaceAll('{CHECKOUT_SESSION_ID}', id).replaceAll(/%7BCHECKOUT_SESSION_ID%7D/gi, id))

type Found = StoredStripeObject<'session'> & { intent: PaymentIntent | undefined }

const notFound = (options: PageFrame, reply: FastifyReply, id: string) =>
  sendPage(
    reply,
    404,
    endedPage(options, {
      title: 'This checkout does not exist',
      text: `There is no checkout session ${JSON.stringify(id.slice(0, 100))}: the sandbox may have been reset.`,
    }),
  )

const intentOf = async (
  db: Database,
  { payment_intent: id }: StripeSession,
): Promise<PaymentIntent | undefined> =>
  typeof id === 'string' ? (await find(db, 'payment_intent', id))?.object : undefined

/** The page of a session that is not open; undefined if it can be paid. */
function ended(
  options: PageFrame,
  session: StripeSession,
  intent: PaymentIntent | undefined,
): string | undefined {
  if (session.payment_status === 'paid')
    return endedPage(options, {
      title: 'This payment is complete',
      text: 'There is nothing left to pay.',
      link: successUrlOf(session),
    })
  if (session.status === 'expired')
    return endedPage(options, {
      title: 'This checkout has expired',
      text: 'Nothing was paid.',
      link: session.cancel_url,
    })
  if (intent?.status === 'canceled')
    return endedPage(options, {
      title: 'This payment was canceled',
      text: 'Nothing was paid.',
      link: session.cancel_url,
    })
  if (session.status === 'open') return undefined
  return intent?.status === 'processing'
    ? endedPage(options, {
        title: 'This payment is processing',
        text: 'The bank debit is paid later.',
        link: successUrlOf(session),
      })
    : endedPage(options, {
        title: 'This payment failed',
        text: 'The bank returned the debit.',
        link: session.cancel_url,
      })
}

/**
 * The hosted checkout page: `GET /:id` shows it, `POST` pays, cancels, or pays by bank debit; `/:id/authenticate` is the page
 * of the bank. The id of a session is all that is needed to pay it. The origin of a form cannot be checked: browsers send
 * `Origin: null` with the page's own forms, because of the `Referrer-Policy: no-referrer` of every answer.
 */
export const createCheckout = (options: CheckoutOptions): FastifyPluginAsync => {
  const { db, clock, changes, originOf, expireOverdue } = options

  /** Handles a request about an open session; others get the page that says what has become of it. */
  const about =
    (handle: (found: Found, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const { id } = request.params as { id: string }
      await expireOverdue()
      const stored = await find(db, 'session', id)
      if (!stored) return notFound(options, reply, id)
      const intent = await intentOf(db, stored.object)
      const text = ended(options, stored.object, intent)
      return text === undefined ? handle({ ...stored, intent }, request, reply) : sendPage(reply, 200, text)
    }

  const show = (
    reply: FastifyReply,
    { object, details }: Found,
    fields: CardFields,
    failure?: [number, PayError],
  ) =>
    sendPage(
      reply,
      failure?.[0] ?? 200,
      payPage(options, {
        session: object,
        items: details.items ?? [],
        debit: bankDebitOf(object) !== undefined,
        fields,
        error: failure?.[1],
      }),
    )

  /** Runs a payment attempt. If another request ended the session meanwhile, the page of the session is shown. */
  async function attempt(
    { object: { id } }: Found,
    reply: FastifyReply,
    run: () => Promise<PaymentAttempt>,
    retry: (error: PayError) => unknown,
  ): Promise<unknown> {
    try {
      const outcome = await run()
      if (outcome.result === 'declined') {
        const { message, fields } = outcome.error
        return await retry({ message, field: DECLINED_FIELDS[fields.code ?? ''] })
      }
      return await reply.redirect(
        outcome.result === 'authentication'
          ? `${options.root}/cardpay/pay/${id}/authenticate`
          : successUrlOf(outcome.session),
        303,
      )
    } catch (error) {
      if (!(error instanceof StripeError)) throw error
      return await reply.redirect(`${options.root}/cardpay/pay/${id}`, 303)
    }
  }

  async function submit(found: Found, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { id, cancel_url: cancelUrl, customer_email: customerEmail } = found.object
    const form = formOf(request.body)
    const field = (name: string): string => (form.get(name) ?? '').slice(0, FIELD_MAX)
    const email = customerEmail ?? field('email').trim()
    const name = field('name').trim()
    const buyer = { email, ...(name !== '' && { name }) }
    const debit = bankDebitOf(found.object)
    if (form.get('action') === 'cancel' && cancelUrl !== null) return reply.redirect(hrefOf(cancelUrl), 303)
    const fields: CardFields = {
      email,
      number: field('number').replaceAll(/[\s-]/g, ''),
      expiry: field('expiry'),
      cvc: field('cvc'),
      name,
    }
    const isDebit = form.get('action') === 'debit' && debit !== undefined
    const error = isDebit ? emailError(email) : fieldError(fields, clock.now())
    if (error !== undefined) return show(reply, found, fields, [400, error])
    const method = isDebit ? { debit, ...buyer } : { card: fields.number, ...buyer }
    const run = async () => changes.run(await originOf(), (change) => pay(change, id, method))
    return attempt(found, reply, run, (failure) => show(reply, found, fields, [402, failure]))
  }

  const isAuthenticating = ({ intent }: Found): boolean => intent?.status === 'requires_action'

  return async (engine) => {
    takeForms(engine)
    engine.get(
      '/:id',
      about(async (found, request, reply) => {
        const card = (request.query as { card?: unknown }).card
        const cardNumber = typeof card === 'string' && /^\d{12,19}$/.test(card) ? { number: card } : {}
        return show(reply, found, { ...fieldsOf(found.object), ...cardNumber })
      }),
    )
    engine.post('/:id', about(submit))
    engine.get(
      '/:id/authenticate',
      about(async (found, _request, reply) =>
        isAuthenticating(found)
          ? sendPage(reply, 200, authenticationPage(options, found.object))
          : reply.redirect(`${options.root}/cardpay/pay/${found.object.id}`, 303),
      ),
    )
    engine.post(
      '/:id/authenticate',
      about(async (found, request, reply) => {
        const isComplete = formOf(request.body).get('action') === 'complete'
        const { id } = found.object
        const run = async () =>
          changes.run(await originOf(), (change) => authenticate(change, id, isComplete))
        return attempt(found, reply, run, (error) => show(reply, found, fieldsOf(found.object), [402, error]))
      }),
    )
  }
}
