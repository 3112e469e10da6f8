import { useEffect } from 'preact/hooks'

import { hasWire } from '../../parts/installation.ts'
import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { Plot } from './plot.tsx'
import type { RangeChoice } from './range.tsx'
import { tilesOf, type SeriesTile } from './series-tiles.ts'
import { SlowRoutes } from './slow-routes.tsx'

const AGAIN_MS = 60_000

/** What happened over time, each series with its total, the change and a picture. */
export default function Plots({ range }: { range: RangeChoice }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const loaded = useLoad(
    (signal) => six.call('GET /core/series', { query: { range: range.name, timeZone }, signal }),
    [range.name],
  )
  useEffect(() => {
    const timer = setInterval(() => document.hidden || loaded.again(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <section class="plots" aria-label={`The last ${range.title}`} aria-busy={loaded.isLoading}>
      <Show of={loaded}>
        {(page) => {
          const tiles = tilesOf(page)
          const shown = tiles.filter(({ isEmpty }) => !isEmpty)
          const empty = tiles.filter(({ isEmpty }) => isEmpty)
          return (
            <>
              {isUnused(tiles) && <Welcome />}
              {shown.length > 0 && (
                <ul class="plot-grid" aria-label="Over time">
                  {shown.map((tile) => (
                    <Plot key={`${tile.name} ${tile.title}`} tile={tile} range={range} from={page.from} />
                  ))}
                </ul>
              )}
              {shown.length > 0 && empty.length > 0 && (
                <p class="soft">
                  Nothing in this time: <Text>{empty.map(({ title }) => title).join(', ')}</Text>.
                </p>
              )}
              {shown.length > 0 && <SlowRoutes since={page.from} />}
            </>
          )
        }}
      </Show>
    </section>
  )
}

/** Whether nothing was before, and nothing is stored. */
const isUnused = (tiles: readonly SeriesTile[]): boolean =>
  tiles.every(({ isNew, name, isEmpty }) => isNew && (name !== 'stored-bytes' || isEmpty))

/** What to do in an installation that nobody has used yet. */
const Welcome = () => (
  <div class="card welcome">
    <h2>It is quiet here</h2>
    <p class="soft">
      Sign-ups, payments, messages and requests are drawn here as soon as there are some. To begin with:
    </p>
    <ul class="buttons">
      {hasWire('store') && (
        <li>
          <Link class="button" to={href(['data'])}>
            Create a collection
          </Link>
        </li>
      )}
      <li>
        <Link class="button" to={href(['users'])}>
          Invite a colleague
        </Link>
      </li>
      <li>
        <Link class="button" to={href(['settings'])}>
          Look at the settings
        </Link>
      </li>
    </ul>
  </div>
)
