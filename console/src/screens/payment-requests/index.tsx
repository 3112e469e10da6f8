import { List } from '../../parts/list.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { href, Link, queryValue } from '../../parts/router.tsx'
import type { LoadRows } from '../../parts/rows.ts'
import { six } from '../../parts/session.ts'
import { Facts, Id, Text, Time } from '../../parts/text.tsx'
import { moneyText, tokenDecimal } from '../payments/amounts.ts'
import { State } from '../payments/state.tsx'

const STATUSES = [
  'pending',
  'detected',
  'confirmed',
  'overpaid',
  'underpaid',
  'late',
  'expired',
  'cancelled',
] as const

type Request = Awaited<ReturnType<typeof fetchPage>>['requests'][number]

function fetchPage(cursor: string | undefined, signal: AbortSignal) {
  const status = queryValue('status') as (typeof STATUSES)[number] | undefined
  const [chain, token, address, owner] = ['chain', 'token', 'address', 'owner'].map(queryValue)
  return six.call('GET /pay/onchain/payment', {
    query: { status, chain, token, address, owner, cursor, limit: 100, total: 'none' },
    signal,
  })
}

const load: LoadRows<Request> = async ({ cursor, signal }) => {
  const { requests, nextCursor } = await fetchPage(cursor, signal)
  return { rows: requests, nextCursor }
}

/** Requests to pay to an address of a chain, with what arrived there. */
export default function PaymentRequests() {
  return (
    <List<Request>
      title="Payment requests"
      at={['payment-requests']}
      idOf={({ _id }) => _id}
      nameOf={(one) => moneyText(one.displayAmount, one.token)}
      load={load}
      canBeLive
      filters={[
        { kind: 'search', name: 'address', label: 'Receiver address' },
        {
          kind: 'choice',
          name: 'status',
          label: 'Status',
          options: STATUSES.map((status) => [status, status] as const),
        },
        { kind: 'text', name: 'chain', label: 'Chain' },
        { kind: 'text', name: 'token', label: 'Token' },
        { kind: 'text', name: 'owner', label: 'User: email or id' },
      ]}
      columns={[
        {
          name: 'amount',
          title: 'Requested',
          order: ({ displayAmount }) => Number(displayAmount),
          cell: (one) => moneyText(one.displayAmount, one.token),
          width: '150px',
          isNumber: true,
        },
        {
          name: 'status',
          title: 'Status',
          order: ({ status }) => status,
          cell: (one) => <State of={one.status} />,
          width: '110px',
        },
        {
          name: 'received',
          title: 'Received',
          order: (one) => Number(tokenDecimal(one.receivedAmount, one.exponent)),
          cell: (one) => moneyText(tokenDecimal(one.receivedAmount, one.exponent), one.token),
          width: '150px',
          isNumber: true,
          isMinor: true,
        },
        {
          name: 'chain',
          title: 'Chain',
          order: ({ chain }) => chain,
          cell: ({ chain }) => chain,
          width: '100px',
          isMinor: true,
        },
        {
          name: 'to',
          title: 'Address',
          order: (one) => one.receiverAddress,
          cell: (one) => <code>{one.receiverAddress}</code>,
          isMinor: true,
        },
        {
          name: 'until',
          title: 'Until',
          order: ({ expiresAt }) => expiresAt,
          cell: (one) => <Time at={one.expiresAt} />,
          width: '120px',
        },
      ]}
      empty={<p>No payment requests yet. POST /pay/onchain/payment creates one.</p>}
      pane={(id) => <RequestPane id={id} key={id} />}
    />
  )
}

function RequestPane({ id }: { id: string }) {
  const request = useLoad(
    (signal) =>
      Promise.all([
        six.call('GET /pay/onchain/payment/:id', { params: { id }, signal }),
        six.call('GET /pay/transactions/:id', { params: { id }, signal }),
      ]),
    [id],
  )
  return (
    <Show of={request}>
      {([one, payment]) => (
        <>
          <h2 tabIndex={-1}>
            {moneyText(one.displayAmount, one.token)} <State of={one.status} />
          </h2>
          <Facts
            of={[
              ['Received', moneyText(tokenDecimal(one.receivedAmount, payment.exponent), one.token)],
              ['Confirmations', String(one.confirmations)],
              ['Chain', one.chain],
              ['Address', <Id what="the address">{one.receiverAddress}</Id>],
              ['Payment link', <Id what="the payment link">{one.paymentUri}</Id>],
              ['Created', <Time at={one.createdAt} />],
              ['Can be paid until', <Time at={one.expiresAt} />],
              [
                'Payment',
                <Link to={href(['payments', one.transactionId])}>The payment and its timeline</Link>,
              ],
              [
                'User',
                <Link to={href(['users', payment.userId])}>
                  <Owner of={payment.userId} />
                </Link>,
              ],
            ]}
          />
          {one.transactionHashes.length > 0 && (
            <>
              <h3>Transactions on the chain</h3>
              {one.transactionHashes.map((hash) => (
                <p key={hash}>
                  <Id what="the hash">{hash}</Id>
                </p>
              ))}
            </>
          )}
          {one.unexpected.length > 0 && (
            <>
              <h3>In another token, or on another chain</h3>
              <ul>
                {one.unexpected.map(({ chain, token, amount }) => (
                  <li key={`${chain} ${token}`}>
                    {amount} smallest units of <Text>{token}</Text> on <Text>{chain}</Text>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Show>
  )
}
