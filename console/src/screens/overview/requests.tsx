import type { Api } from '../../../../client/src/index.ts'
import { Bars, Sparkline } from '../../parts/chart.tsx'
import { href, Link } from '../../parts/router.tsx'

type Hour = NonNullable<Api['GET /core/overview']['reply']['requests']>[number]

const hourOf = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

const sum = (hours: readonly Hour[], field: 'requests' | 'refusals' | 'failures'): number =>
  hours.reduce((total, hour) => total + hour[field], 0)

const share = (part: number, all: number): string =>
  all === 0 ? '0 %' : `${((part / all) * 100).toFixed(part === 0 ? 0 : 1)} %`

/** Requests of the last 24 hours. */
export function Requests({ hours }: { hours: readonly Hour[] }) {
  const [requests, refusals, failures] = [
    sum(hours, 'requests'),
    sum(hours, 'refusals'),
    sum(hours, 'failures'),
  ]
  const meanMs = hours.reduce((total, hour) => total + hour.meanMs * hour.requests, 0) / Math.max(1, requests)
  return (
    <section class="card" aria-label="Requests of the last 24 hours">
      <div class="card-head">
        <h2>Requests of the last 24 hours</h2>
        <Link to={href(['logs'])}>Logs</Link>
      </div>
      <dl class="numbers-row">
        <div>
          <dt>Requests</dt>
          <dd>{requests.toLocaleString()}</dd>
        </div>
        <div>
          <dt>
            <i class="dot warning" aria-hidden="true" /> Refused (4xx)
          </dt>
          <dd>
            {refusals.toLocaleString()} <small class="soft">{share(refusals, requests)}</small>
          </dd>
        </div>
        <div>
          <dt>
            <i class="dot bad" aria-hidden="true" /> Failed (5xx)
          </dt>
          <dd>
            {failures.toLocaleString()} <small class="soft">{share(failures, requests)}</small>
          </dd>
        </div>
        <div>
          <dt>Mean time</dt>
          <dd class="with-spark">
            {meanMs.toFixed(1)} <small class="soft">ms</small>
            <Sparkline title="Mean time of each hour" values={hours.map((hour) => hour.meanMs)} />
          </dd>
        </div>
      </dl>
      <Bars
        title="Requests in each hour"
        unit="requests"
        bars={hours.map((hour) => ({
          label: hourOf.format(new Date(hour.at)),
          total: hour.requests,
          parts: [
            { name: 'failed', value: hour.failures, tone: 'bad' },
            { name: 'refused', value: hour.refusals, tone: 'warning' },
          ],
        }))}
      />
    </section>
  )
}
