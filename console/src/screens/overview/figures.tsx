import type { ComponentChildren } from 'preact'

import type { Api } from '../../../../client/src/index.ts'
import { href } from '../../parts/router.tsx'
import { bytes, Text, Time } from '../../parts/text.tsx'

type OverviewReply = Api['GET /core/overview']['reply']
type Figure = OverviewReply['figures'][number]

/** Where a figure is looked at. */
const SCREENS: Readonly<Record<string, string>> = {
  'auth accounts': href(['users']),
  'auth unverified-accounts': href(['users'], { state: 'unverified' }),
  'auth locked-addresses': href(['users'], { state: 'locked' }),
  'store last-backup': href(['backups']),
}

const isAlarming = ({ isWarning = false, kind, value }: Figure): boolean =>
  isWarning && (kind === 'time' ? value === null : typeof value === 'number' && value > 0)

function Value({ of: { kind, value } }: { of: Figure }) {
  if (value === null) return <>{kind === 'time' ? 'none' : '–'}</>
  if (kind === 'time') return <Time at={String(value)} />
  if (typeof value === 'string') return <Text>{value}</Text>
  return <>{kind === 'bytes' ? bytes(value) : value.toLocaleString()}</>
}

function Tile(props: { title: string; to: string | undefined; isBad: boolean; children: ComponentChildren }) {
  const { title, to, isBad, children } = props
  return (
    <li class={isBad ? 'tile bad' : 'tile'}>
      <span class="tile-title">{to === undefined ? <Text>{title}</Text> : <a href={to}>{title}</a>}</span>
      <strong>{children}</strong>
    </li>
  )
}

/** One number a tile: those of the server, then those of the wires. */
export function Figures(props: Pick<OverviewReply, 'figures' | 'openFaults' | 'jobs'>) {
  const { figures, openFaults, jobs = [] } = props
  const count = (states: readonly string[]): number =>
    jobs.reduce((sum, one) => sum + (states.includes(one.state) ? one.count : 0), 0)
  const failed = count(['failed'])
  return (
    <ul class="tiles" aria-label="Figures">
      {openFaults !== undefined && (
        <Tile title="Open faults" to={href(['faults'], { state: 'open' })} isBad={openFaults > 0}>
          {openFaults.toLocaleString()}
        </Tile>
      )}
      <Tile title="Failed jobs" to={href(['jobs'], { state: 'failed' })} isBad={failed > 0}>
        {failed.toLocaleString()}
      </Tile>
      {figures.map((figure) => (
        <Tile
          key={`${figure.wire} ${figure.name}`}
          title={figure.title}
          to={SCREENS[`${figure.wire} ${figure.name}`]}
          isBad={isAlarming(figure)}
        >
          <Value of={figure} />
        </Tile>
      ))}
    </ul>
  )
}
