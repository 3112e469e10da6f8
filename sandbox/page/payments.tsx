import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

import { Outside } from '../../console/src/parts/router.tsx'
import { Badge, Facts, Time } from '../../console/src/parts/text.tsx'
import { announce } from '../../console/src/parts/toast.tsx'
import { Actions } from './actions.tsx'
import { Command, Panes, Row, Title } from './panes.tsx'
import { cardPayment, walletPayment, type CardSession, type Payment, type WalletOrder } from './payment.ts'
import { ask, isUnused, root, serverUrl, SIGN_IN } from './server.ts'
import { openIn } from './where.ts'

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

const payments = signal<readonly Payment[] | undefined>(undefined)
/** What each test card does, by number. */
let cards: Record<string, string> | undefined

export async function refreshPayments(): Promise<void> {
  cards ??= (await ask<{ cardpay?: { magic?: Record<string, string> } }>('GET', '')).cardpay?.magic ?? {}
  const [{ payments: sessions }, { orders }] = await Promise.all([
    ask<{ payments: CardSession[] }>('GET', '/cardpay'),
    ask<{ orders: WalletOrder[] }>('GET', '/walletpay'),
  ])
  const before = payments.peek() && new Map(payments.peek()!.map(({ id, state }) => [id, state]))
  const now = [
    ...sessions.map((one) => cardPayment(one, cards!)),
    ...orders.map((one) => walletPayment(one)),
  ].toSorted((a, b) => b.createdAt.localeCompare(a.createdAt))
  payments.value = now
  for (const { id, amount, state } of before ? now : [])
    if (before!.get(id) !== state)
      announce(`${before!.has(id) ? 'Payment' : 'New payment'} of ${amount}: ${state}`)
}

/** The payments at both providers, and what can happen to them. */
export function Payments() {
  const payment = payments.value?.find(({ id }) => id === openIn('payments'))
  return (
    <Panes
      part="payments"
      isEmpty={payments.value && payments.value.length === 0}
      empty={isUnused('cardpay') && isUnused('walletpay') ? <Unused /> : <Empty />}
      choose={<p>Choose a payment to see what happened to it, and what can happen next.</p>}
      rows={payments.value?.map(({ id, amount, state, tone, description, createdAt }) => (
        <Row key={id} part="payments" id={id} title={amount} moment={<Time at={createdAt} />}>
          <span class="line">
            <span class="preview">{description || id}</span>
            <Badge tone={tone}>{state}</Badge>
          </span>
        </Row>
      ))}
      reader={payment && <Reader key={payment.id} payment={payment} />}
    />
  )
}

const Unused = () => (
  <>
    <h2>No payments arrive here</h2>
    <p>Buyers pay at the providers that are configured.</p>
  </>
)

const Empty = () => (
  <>
    <h2>No payments yet</h2>
    <p>
      Create a checkout session or an order with your own account, and it appears here. With the policy
      guarded, verify its address first: the link is in the inbox.
    </p>
    {!isUnused('cardpay') && <Command text={CHECKOUT} what="the command for a checkout" />}
    {!isUnused('walletpay') && (
      <>
        <p>By wallet, with the same TOKEN:</p>
        <Command text={ORDER} what="the command for an order" />
      </>
    )}
  </>
)

const Titled = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <div class="panel">
    <h3>{title}</h3>
    {children}
  </div>
)

const Reader = ({ payment }: { payment: Payment }) => {
  const { amount, state, tone, facts, createdAt, link, capture, next, refunds, dispute } = payment
  return (
    <>
      <Title>{amount}</Title>
      <Facts
        of={[
          ['State', <Badge tone={tone}>{state}</Badge>],
          ...facts.filter(([, value]) => value),
          ['Created', <Time at={createdAt} />],
        ]}
      />
      {link && (
        <p class="links">
          <Outside url={link.url}>{link.text}</Outside>
        </p>
      )}
      {capture && (
        <Titled title="Your application captures the order">
          <Command text={capture} what="the command that captures the order" />
        </Titled>
      )}
      {next.length > 0 && (
        <Titled title="What happens next">
          <Actions part="payments" actions={next} />
        </Titled>
      )}
      {refunds.map(({ id, title, status, next: steps }) => (
        <Titled key={id} title={title}>
          <p>{status}</p>
          {steps.length > 0 && <Actions part="payments" actions={steps} />}
        </Titled>
      ))}
      {dispute && (
        <Titled title={dispute.title}>
          <p>{dispute.text}</p>
          {dispute.next.length > 0 && <Actions part="payments" actions={dispute.next} />}
        </Titled>
      )}
    </>
  )
}
