import { Chart } from '../../parts/chart.tsx'
import { href } from '../../parts/router.tsx'
import { Text } from '../../parts/text.tsx'
import type { RangeChoice } from './range.tsx'
import type { SeriesTile } from './series-tiles.ts'

/** The filter of a list for what is not older than a time. */
const TIME_FILTERS: Readonly<Record<string, (from: string) => Record<string, string>>> = {
  payments: (from) => ({ from: from.slice(0, 10) }),
  logs: (from) => ({ since: from }),
}

/** The address of the records, of this time where their list can show that. */
function addressOf(opens: string, from: string): string {
  const [screen = '', search] = opens.split('?')
  return href([screen], {
    ...Object.fromEntries(new URLSearchParams(search)),
    ...TIME_FILTERS[screen]?.(from),
  })
}

/** A series: its total, the change, a picture, and the numbers behind it. */
export function Plot({ tile, range, from }: { tile: SeriesTile; range: RangeChoice; from: string }) {
  const { title, kind, opens, total, bars, parts, text } = tile
  return (
    <li class="card plot">
      <h2>{opens === undefined ? <Text>{title}</Text> : <a href={addressOf(opens, from)}>{title}</a>}</h2>
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
                <i class={`dot ${tone ?? 'plain'}`} aria-hidden="true" /> {name} <b>{ofPart}</b>
              </li>
            ))}
          </ul>
        )}
      </Chart>
    </li>
  )
}

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
