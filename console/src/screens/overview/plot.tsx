import { Chart } from '../../parts/chart.tsx'
import { href } from '../../parts/router.tsx'
import { Text } from '../../parts/text.tsx'
import type { RangeChoice } from './range.tsx'
import type { SeriesTile } from './series-tiles.ts'

/** The filter of a list, or of a series, for what is not older than a time. */
const TIME_FILTERS: Readonly<Record<string, string>> = {
  'active-users': 'activeSince',
  users: 'since',
  messages: 'since',
  payments: 'from',
  logs: 'since',
}

/** The filter of a list for the parts of its series. */
const PART_FILTERS: Readonly<Record<string, string>> = { messages: 'status' }

/** The address of the records of this time, or of a part of them; undefined if their list can't show that part. */
function addressOf({ name, opens = '' }: SeriesTile, from: string, part?: string): string | undefined {
  const [screen = '', search] = opens.split('?')
  const [time, status] = [TIME_FILTERS[name] ?? TIME_FILTERS[screen], PART_FILTERS[screen]]
  if (opens === '' || (part !== undefined && status === undefined)) return undefined
  return href([screen], {
    ...Object.fromEntries(new URLSearchParams(search)),
    ...(time !== undefined && { [time]: from }),
    ...(status !== undefined && { [status]: part }),
  })
}

/** A series: its total, the change, a picture, and the numbers behind it. */
export function Plot({ tile, range, from }: { tile: SeriesTile; range: RangeChoice; from: string }) {
  const { title, kind, total, bars, parts, text } = tile
  return (
    <li class="card plot">
      <h2>
        <Opens to={addressOf(tile, from)}>{title}</Opens>
      </h2>
      <p class="plot-total">
        <strong>{total}</strong>
        <Change of={tile} before={range.before} />
      </p>
      <Chart
        kind={kind === 'level' ? 'line' : 'bars'}
        title={`${title}, ${range.title}`}
        unit={tile.unit}
        bars={bars}
        text={text}
      >
        {parts.length > 0 && (
          <ul class="legend" aria-label={`${title} by kind`}>
            {parts.map(({ name, total: ofPart, tone }) => (
              <li key={name}>
                <i class={`dot ${tone ?? 'plain'}`} aria-hidden="true" />{' '}
                <Opens to={addressOf(tile, from, name)}>{name}</Opens> <b>{ofPart}</b>
              </li>
            ))}
          </ul>
        )}
      </Chart>
    </li>
  )
}

const Opens = ({ to, children }: { to: string | undefined; children: string }) =>
  to === undefined ? <Text>{children}</Text> : <a href={to}>{children}</a>

const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 })

/** How much more or less it is than before, with words for those who do not see the arrow. */
function Change({ of, before }: { of: SeriesTile; before: string }) {
  const { change, isWorse, totalBefore, isComparable } = of
  if (!isComparable) return null
  if (change === undefined) return <span class="change soft">none in {before}</span>
  const isUp = change > 0
  const isSame = Math.abs(change) < 0.005
  const tone = isSame ? 'soft' : isUp === isWorse ? 'worse' : 'better'
  const share = PERCENT.format(Math.abs(change))
  return (
    <span class={`change ${tone}`} title={`${totalBefore} in ${before}`}>
      <span aria-hidden="true">{isSame ? '=' : `${isUp ? '▲' : '▼'} ${share}`}</span>
      <span class="quiet">
        {isSame ? 'as many as' : `${share} ${isUp ? 'more' : 'less'} than`} in {before}, {totalBefore}
      </span>
    </span>
  )
}
