import { ask, isUnused, root, serverUrl, SIGN_IN } from './api.js'
import { actionBar } from './actions.js'
import { cardPayment, walletPayment } from './payment.js'
import { command, make, outside, time, update } from './dom.js'
import { createPanes, row } from './panes.js'

/** This part of the page: where the commands send the buyer's browser. */
const pageUrl = `${location.origin}${root}#payments`

const CHECKOUT = `${SIGN_IN}
curl ${serverUrl}/pay/cardpay/checkout \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{
    "items": [{"name": "Tea", "amount": 1250, "currency": "eur"}],
    "successUrl": "${pageUrl}/{CHECKOUT_SESSION_ID}",
    "cancelUrl": "${pageUrl}"
  }'`

const ORDER = `curl ${serverUrl}/pay/walletpay/order \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{
    "amount": 12.5, "currency": "EUR", "description": "Tea",
    "returnUrl": "${pageUrl}",
    "cancelUrl": "${pageUrl}"
  }'`

/** @param {{ announce(text: string): void, retry(part: string): void }} page */
export function createPayments(page) {
  const panes = createPanes('payments', {
    empty:
      isUnused('cardpay') && isUnused('walletpay')
        ? [
            make('h2', {}, 'No payments arrive here'),
            make('p', {}, 'Buyers pay at the providers that are configured.'),
          ]
        : [
            make('h2', {}, 'No payments yet'),
            make(
              'p',
              {},
              'Create a checkout session or an order with your own account, and it appears here. With the policy guarded, verify its address first: the link is in the inbox.',
            ),
            !isUnused('cardpay') && command(CHECKOUT, 'the command for a checkout'),
            !isUnused('walletpay') && make('p', {}, 'By wallet, with the same TOKEN:'),
            !isUnused('walletpay') && command(ORDER, 'the command for an order'),
          ].filter(Boolean),
    choose: 'Choose a payment to see what happened to it, and what can happen next.',
  })
  const actions = actionBar('payments', page, refresh)
  let payments
  /** What each test card does, by number. */
  let cards
  let openId

  function show() {
    update(
      panes.list,
      payments.map(({ id, amount, state, tone, description, createdAt }) => ({
        id,
        amount,
        state,
        tone,
        description,
        createdAt,
        isOpen: id === openId,
      })),
      ({ id }) => id,
      paymentRow,
    )
    const payment = payments.find(({ id }) => id === openId)
    panes.rest({ isEmpty: payments.length === 0, isChosen: payment !== undefined })
    if (payment) showPayment(payment)
  }

  function showPayment(payment) {
    panes.fill(`payment ${payment.id}`, () => [
      panes.back('Back to the payments'),
      make('h3', { tabindex: -1 }, payment.amount),
      make('div', { class: 'stack' }),
    ])
    update(
      panes.reader.querySelector('.stack'),
      [payment],
      ({ id }) => id,
      (one) => make('div', { class: 'stack' }, ...paymentView(one, actions)),
    )
  }

  async function refresh() {
    cards ??= (await ask('GET', '')).cardpay?.magic ?? {}
    const [{ payments: cardPayments }, { orders }] = await Promise.all([
      ask('GET', '/cardpay'),
      ask('GET', '/walletpay'),
    ])
    const before = payments && new Map(payments.map(({ id, state }) => [id, state]))
    payments = [
      ...cardPayments.map((one) => cardPayment(one, cards)),
      ...orders.map((one) => walletPayment(one)),
    ].toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
    show()
    for (const { id, amount, state } of before ? payments : [])
      if (before.get(id) !== state)
        page.announce(`${before.has(id) ? 'Payment' : 'New payment'} of ${amount}: ${state}`)
  }

  return {
    open(id) {
      const isOther = openId !== id
      openId = id
      panes.open(id)
      if (!payments) return
      show()
      if (isOther && id !== undefined) panes.focus()
    },
    refresh,
  }
}

const badge = (state, tone) => make('span', { class: `badge ${tone}` }, state)

const paymentRow = ({ id, amount, state, tone, description, createdAt, isOpen }) =>
  row(
    { href: `#payments/${encodeURIComponent(id)}`, title: amount, moment: time(createdAt), isOpen },
    make(
      'span',
      { class: 'line' },
      make('span', { class: 'preview' }, description || id),
      badge(state, tone),
    ),
  )

const titled = (title, ...content) => make('div', { class: 'panel' }, make('h4', {}, title), ...content)

function paymentView({ state, tone, facts, link, capture, next, refunds, dispute }, actions) {
  return [
    make(
      'dl',
      { class: 'facts' },
      make('dt', {}, 'State'),
      make('dd', {}, badge(state, tone)),
      ...facts
        .filter(([, value]) => value)
        .flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
    ),
    link && make('p', { class: 'links' }, outside(link.url, link.text)),
    capture &&
      titled('Your application captures the order', command(capture, 'the command that captures the order')),
    next.length > 0 && titled('What happens next', actions(next)),
    ...refunds.map(({ title, status, next: steps }) =>
      titled(title, make('p', {}, status), steps.length > 0 && actions(steps)),
    ),
    dispute &&
      titled(dispute.title, make('p', {}, dispute.text), dispute.next.length > 0 && actions(dispute.next)),
  ].filter(Boolean)
}
