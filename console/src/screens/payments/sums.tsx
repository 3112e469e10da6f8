import { useLoad } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { decimalOf, moneyText, tokenDecimal } from './amounts.ts'
import { filtersInPlace } from './filters.ts'

export type SumsAnswer = Awaited<ReturnType<typeof fetchSums>>
export type SumsRow = SumsAnswer['sums'][number]

export const fetchSums = (by: 'status' | 'day', signal: AbortSignal) =>
  six.call('GET /pay/summary', { query: { ...filtersInPlace(), by }, signal })

export const sumText = (units: bigint | string, { provider, exponent, currency }: SumsRow): string =>
  moneyText((provider === 'onchain' ? tokenDecimal : decimalOf)(units, exponent), currency)

const sum = (rows: readonly SumsRow[], column: 'captured' | 'refunded' | 'lost' | 'disputed'): bigint =>
  rows.reduce((total, row) => total + BigInt(row[column]), 0n)

export const byCurrency = (rows: readonly SumsRow[]): readonly (readonly SumsRow[])[] => [
  ...Map.groupBy(rows, ({ currency, exponent, provider }) =>
    [currency, exponent, provider === 'onchain'].join(' '),
  ).values(),
]

/** What the payments of the list add up to, in each currency. */
export function Sums() {
  const sums = useLoad((signal) => fetchSums('status', signal), [JSON.stringify(filtersInPlace())])
  if (!sums.value) return <p class="sums soft">&nbsp;</p>
  const { value } = sums
  return (
    <div class="sums" role="group" aria-label="Sums by currency">
      {byCurrency(value.sums).map((rows) => (
        <div key={`${rows[0]!.currency} ${rows[0]!.exponent} ${rows[0]!.provider}`}>
          <strong>{sumText(sum(rows, 'captured'), rows[0]!)}</strong>{' '}
          <span class="soft">
            {sum(rows, 'refunded') > 0n && `${sumText(sum(rows, 'refunded'), rows[0]!)} refunded, `}
            {countText(rows)}
          </span>
        </div>
      ))}
      <span class="soft">
        {value.sums.length === 0 ? 'No payments ' : ''}
        {rangeText(value)}
      </span>
    </div>
  )
}

/** How many payments the sum is of, and how many others there are: `15 payments, 5 others`. */
function countText(rows: readonly SumsRow[]): string {
  const [paid, others] = [true, false].map((isPaid) =>
    rows.reduce((count, row) => count + ((row.captured !== '0') === isPaid ? row.payments : 0), 0),
  ) as [number, number]
  return `${paid} payment${paid === 1 ? '' : 's'}${others > 0 ? `, ${others} not paid` : ''}`
}

function rangeText({ from, to, isComplete }: SumsAnswer): string {
  const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
  const range = `${day.format(new Date(from))} to ${day.format(new Date(to))}`
  return isComplete ? range : `${range}: only the newest 100,000`
}
