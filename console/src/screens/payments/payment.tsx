import { confirm } from '../../parts/dialog.tsx'
import { openLate } from '../../parts/late.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Provider } from '../../parts/names.tsx'
import { Owner } from '../../parts/owner.tsx'
import { href, Link } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { majorOf, moneyText } from './amounts.ts'
import { fetchPayment, type PaymentDetails } from './details.ts'
import { Purchase } from './purchase.tsx'
import { State } from './state.tsx'
import { Timeline } from './timeline.tsx'

/** One payment: what it is, what can be given back, and what happened to it. */
export default function PaymentPane({ id, changed }: { id: string; changed: () => void }) {
  const payment = useLoad((signal) => fetchPayment(id, signal), [id])
  const reload = () => {
    payment.again()
    changed()
  }
  return (
    <Show of={payment}>
      {(one) => (
        <>
          <h2 tabIndex={-1}>
            {moneyText(one.displayAmount, one.currency)} <State of={one.status} />
          </h2>
          <Actions of={one} changed={reload} />
          <Tabs
            label="Payment"
            tabs={[
              { name: 'facts', title: 'Payment', show: () => <Overview of={one} /> },
              { name: 'timeline', title: 'Timeline', show: () => <Timeline id={id} key={one.updatedAt} /> },
            ]}
          />
        </>
      )}
    </Show>
  )
}

function Actions({ of: one, changed }: { of: PaymentDetails; changed: () => void }) {
  const isRefundable = one.provider !== 'onchain' && !/^[0.]*$/.test(one.displayRefundable)
  const cancel = () =>
    confirm({
      title: `Cancel the payment of ${moneyText(one.displayAmount, one.currency)}?`,
      verb: 'Cancel the payment',
      children: <p>The buyer cannot pay it any more. A payment that arrives nevertheless completes it.</p>,
      async act() {
        await six.call('POST /pay/transactions/:id/cancel', { params: { id: one._id } })
        toast('Payment cancelled.')
        changed()
      },
    })
  if (!isRefundable && one.status !== 'pending') return null
  return (
    <div class="buttons">
      {isRefundable && (
        <button
          type="button"
          disabled={!canWrite.value}
          onClick={() => openLate(() => import('./refund.tsx'), { payment: one, done: changed })}
        >
          Refund…
        </button>
      )}
      {one.status === 'pending' && (
        <button type="button" class="dangerous" disabled={!canWrite.value} onClick={cancel}>
          Cancel…
        </button>
      )}
    </div>
  )
}

function Overview({ of: one }: { of: PaymentDetails }) {
  const amount = (value: number) => moneyText(majorOf(value, one), one.currency)
  return (
    <>
      <Facts
        of={[
          ['Amount', moneyText(one.displayAmount, one.currency)],
          one.fee !== undefined && ['Fee', moneyText(one.fee, one.feeCurrency!)],
          one.net !== undefined && ['Net', moneyText(one.net, one.feeCurrency!)],
          one.refundedAmount > 0 && ['Refunded', amount(one.refundedAmount)],
          one.disputedAmount > 0 && ['Disputed', amount(one.disputedAmount)],
          one.lostAmount > 0 && ['Lost', amount(one.lostAmount)],
          one.provider !== 'onchain' && ['Refundable', moneyText(one.displayRefundable, one.currency)],
          one.dispute && [
            'Dispute',
            <>
              <State of={one.dispute.status} /> {amount(one.dispute.amount)}{' '}
              <Text>{one.dispute.reason ?? ''}</Text>
            </>,
          ],
          ['Created', <Time at={one.createdAt} />],
          ['Changed', <Time at={one.updatedAt} />],
          one.expiresAt !== undefined && ['Can be paid until', <Time at={one.expiresAt} />],
          one.email !== undefined && ['Buyer', <Text>{one.email}</Text>],
          [
            'User',
            <Link to={href(['users', one.userId])}>
              <Owner of={one.userId} />
            </Link>,
          ],
          one.merchantReference !== undefined && ['Your reference', <Text>{one.merchantReference}</Text>],
          ['Provider', <Provider of={one.provider} />],
          one.provider === 'onchain'
            ? ['Request', <Link to={href(['payment-requests', one._id])}>What arrived at its address</Link>]
            : one.reference !== undefined && ['At the provider', <Id>{one.reference}</Id>],
          one.paymentId !== undefined && ['Payment at the provider', <Id>{one.paymentId}</Id>],
          ['Id', <Id>{one._id}</Id>],
        ]}
      />
      <Purchase of={one} />
      <Refunds of={one} />
      {one.metadata && (
        <>
          <h3>Metadata</h3>
          <Json value={one.metadata} label="Metadata" />
        </>
      )}
    </>
  )
}

function Refunds({ of: one }: { of: PaymentDetails }) {
  if (one.refunds.length === 0) return null
  return (
    <>
      <h3>Refunds</h3>
      <table class="amounts">
        <thead>
          <tr>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">Status</th>
            <th scope="col">When</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {one.refunds.map(({ refundId, amount, status, createdAt, reason }) => (
            <tr key={refundId}>
              <td class="number">{moneyText(majorOf(amount, one), one.currency)}</td>
              <td>
                <State of={status} />
              </td>
              <td>
                <Time at={createdAt} />
              </td>
              <td>
                <Text>{reason ?? ''}</Text>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
