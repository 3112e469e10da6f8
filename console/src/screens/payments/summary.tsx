import { Show, useLoad } from '../../parts/load.tsx'
import { setQuery, place } from '../../parts/router.tsx'
import { decimalOf, moneyText } from './amounts.ts'
import { filtersInPlace } from './filters.ts'
import { State } from './state.tsx'
import { byCurrency, fetchSums, sumText, type SumsAnswer } from './sums.tsx'

/** Sums by status and by day, which follow the filters of the list. */
export default function Summary() {
  const deps = [JSON.stringify(filtersInPlace())]
  const byStatus = useLoad((signal) => fetchSums('status', signal), deps)
  const byDay = useLoad((signal) => fetchSums('day', signal), deps)
  const { query } = place.value
  return (
    <>
      <h2 tabIndex={-1}>Summary</h2>
      <p class="soft">
        Of the payments that the list shows, by the time of their creation in UTC
        {query.get('from') ? '' : '; without a filter of the last 30 days'}. Nothing is converted.
      </p>
      <Show of={byStatus}>{(value) => <ByStatus of={value} />}</Show>
      <Show of={byDay}>{(value) => <ByDay of={value} />}</Show>
    </>
  )
}

const ByStatus = ({ of: { sums, fees, isComplete } }: { of: SumsAnswer }) => (
  <>
    {!isComplete && <p class="notice warning">There are more payments: the newest 100,000 are summed.</p>}
    <h3>By status</h3>
    <div class="wide-table">
      <table class="sums-table" aria-label="Sums by status">
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col" class="number">
              Paid
            </th>
            <th scope="col" class="number">
              Returned
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.map((row) => (
            <tr key={`${row.provider} ${row.currency} ${row.exponent} ${row.status}`}>
              <td>
                <button
                  type="button"
                  class="link"
                  onClick={() => setQuery({ status: row.status, currency: row.currency })}
                >
                  <State of={row.status!} />
                </button>{' '}
                {row.payments}
              </td>
              <td class="number">{sumText(row.captured, row)}</td>
              <td class="number">{sumText(BigInt(row.refunded) + BigInt(row.lost), row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    {fees.length > 0 && (
      <p>
        Fees:{' '}
        {fees.map(({ fee, currency, exponent }) => moneyText(decimalOf(fee, exponent), currency)).join(', ')}
      </p>
    )}
  </>
)

const ByDay = ({ of: { sums } }: { of: SumsAnswer }) => (
  <>
    {byCurrency(sums).map((rows) => {
      const most = rows.reduce((max, row) => (BigInt(row.captured) > max ? BigInt(row.captured) : max), 1n)
      const { currency } = rows[0]!
      return (
        <table class="days" key={`${currency} ${rows[0]!.exponent}`}>
          <caption>{currency} by day</caption>
          <thead class="quiet">
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Share of the best day</th>
              <th scope="col">Paid</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.day} ${row.provider}`}>
                <th scope="row">{row.day}</th>
                <td>
                  <meter
                    value={Number((BigInt(row.captured) * 1000n) / most)}
                    max={1000}
                    aria-label={`${row.day}`}
                  />
                </td>
                <td class="number">{sumText(row.captured, row)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )
    })}
  </>
)
