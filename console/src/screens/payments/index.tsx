import { isError } from '../../../../client/src/index.ts'
import { Late } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { Provider } from '../../parts/names.tsx'
import { Owner } from '../../parts/owner.tsx'
import type { LoadRows } from '../../parts/rows.ts'
import { messageOf } from '../../parts/load.tsx'
import { href, Link, sortInPlace } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { majorOf, moneyText, placesOf } from './amounts.ts'
import { filters, filtersInPlace, type PaymentFilters } from './filters.ts'
import { State } from './state.tsx'
import { Sums } from './sums.tsx'

type Page = Awaited<ReturnType<typeof fetchPage>>
type Payment = Page['transactions'][number]

const SORTS = ['amount', 'status', 'email', 'provider', 'createdAt'] as const

const fetchPage = (query: PaymentFilters & { cursor?: string | undefined }, signal: AbortSignal) =>
  six.call('GET /pay/transactions', {
    query: { ...query, sort: sortInPlace(...SORTS), limit: 100, total: 'none' },
    signal,
  })

const ID = /^[0-9a-hjkmnp-tv-z]{26}$/

/** A search that is no email address may be the provider's reference, the merchant's, or the id. */
const load: LoadRows<Payment> = async ({ cursor, signal }) => {
  const { reference, ...query } = filtersInPlace()
  if (reference === undefined) return rowsOf(await fetchPage({ ...query, cursor }, signal))
  if (ID.test(reference)) {
    const transaction = await six
      .call('GET /pay/transactions/:id', { params: { id: reference }, signal })
      .catch((error: unknown) => {
        if (isError(error, 'NOT_FOUND')) return undefined
        throw error
      })
    if (transaction) return { rows: [transaction] }
  }
  const byProvider = await fetchPage({ ...query, reference, cursor }, signal)
  if (byProvider.transactions.length > 0 || cursor !== undefined) return rowsOf(byProvider)
  const merchant = { ...query, merchantReference: reference }
  return rowsOf(await fetchPage(merchant, signal))
}

const rowsOf = ({ transactions, nextCursor }: Page) => ({ rows: transactions, nextCursor })

/** Payments by card, wallet and on chains. */
export default function Payments() {
  return (
    <List<Payment>
      title="Payments"
      at={['payments']}
      idOf={({ _id }) => _id}
      nameOf={(one) => moneyText(one.displayAmount, one.currency)}
      load={load}
      filters={filters}
      canBeLive
      head={<Sums />}
      columns={[
        {
          name: 'amount',
          title: 'Amount',
          sort: 'amount',
          cell: (one) => moneyText(one.displayAmount, one.currency),
          width: '160px',
          isNumber: true,
        },
        {
          name: 'status',
          title: 'Status',
          sort: 'status',
          cell: (one) => <State of={one.status} />,
          width: '160px',
        },
        {
          name: 'back',
          title: 'Refunded',
          order: ({ refundedAmount }) => refundedAmount,
          cell: refundedText,
          width: '120px',
          isNumber: true,
          isMinor: true,
        },
        {
          name: 'email',
          title: 'Buyer',
          sort: 'email',
          cell: ({ email, userId }) => (email ? <Text>{email}</Text> : <Owner of={userId} />),
          isMinor: true,
        },
        {
          name: 'reference',
          title: 'Reference',
          order: ({ merchantReference, reference }) => merchantReference ?? reference,
          cell: ({ merchantReference, reference }) => <Text>{merchantReference ?? reference ?? '–'}</Text>,
          width: '140px',
          isMinor: true,
        },
        {
          name: 'provider',
          title: 'Provider',
          sort: 'provider',
          cell: ({ provider }) => <Provider of={provider} />,
          width: '150px',
          isMinor: true,
        },
        {
          name: 'at',
          title: 'Created',
          sort: 'createdAt',
          cell: (one) => <Time at={one.createdAt} />,
          width: '120px',
        },
      ]}
      empty={<p>No payments yet. They appear here as soon as a checkout is created.</p>}
      buttons={() => (
        <>
          <Link to={href(['payments', 'summary'])}>Summary</Link>
          <button type="button" class="small" onClick={() => void exportCsv()}>
            Export CSV
          </button>
        </>
      )}
      pane={(id, _row, again) =>
        id === 'summary' ? (
          <Late load={() => import('./summary.tsx')} props={{}} />
        ) : (
          <Late key={id} load={() => import('./payment.tsx')} props={{ id, changed: again }} />
        )
      }
    />
  )
}

function refundedText({ provider, currency, displayAmount, refundedAmount }: Payment) {
  if (refundedAmount === 0) return <span class="soft">–</span>
  return moneyText(majorOf(refundedAmount, { provider, exponent: placesOf(displayAmount) }), currency)
}

/** Saves what meets the filters as a file. */
async function exportCsv(): Promise<void> {
  try {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await six.call('GET /pay/transactions.csv', { query: filtersInPlace() }))
    link.download = 'payments.csv'
    link.click()
    URL.revokeObjectURL(link.href)
  } catch (error) {
    toast(messageOf(error), { tone: 'bad' })
  }
}
