import { useEffect } from 'preact/hooks'

import { Late } from '../../parts/late.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { Figures } from './figures.tsx'
import { Findings } from './findings.tsx'
import { Health } from './health.tsx'
import { Jobs } from './jobs.tsx'
import { rangeInPlace, RangeSwitch } from './range.tsx'

const loadPlots = () => import('./plots.tsx')

const AGAIN_MS = 15_000

/** The state of the installation on one page; it is asked again every 15 seconds while it is looked at. */
export default function Overview() {
  const loaded = useLoad((signal) => six.call('GET /core/overview', { signal }), [])
  useEffect(() => {
    const timer = setInterval(() => document.hidden || loaded.again(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="screen page overview">
      <Show of={loaded}>
        {({ name, version, platform, policy, at, health, jobs, openFaults, figures, findings }) => (
          <>
            <header>
              <h1 tabIndex={-1}>
                <Text>{name}</Text> <small class="soft">{version}</small>
              </h1>
              <Badge tone={health.status === 'healthy' ? 'good' : 'bad'}>{health.status}</Badge>
              <p class="soft">
                Sixwire {platform} · policy {policy} · as of <Time at={at} />
              </p>
            </header>
            <Findings findings={findings} again={loaded.again} />
            <Figures figures={figures} openFaults={openFaults} jobs={jobs} />
            <RangeSwitch />
            <Late load={loadPlots} props={{ range: rangeInPlace() }} />
            <div class="halves">
              {jobs && <Jobs jobs={jobs} />}
              <Health health={health} isWell={findings.length === 0} />
            </div>
          </>
        )}
      </Show>
    </div>
  )
}
