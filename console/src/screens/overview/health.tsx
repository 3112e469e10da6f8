import type { Api } from '../../../../client/src/index.ts'
import { Badge, Text } from '../../parts/text.tsx'

type HealthReply = Api['GET /core/overview']['reply']['health']

function uptimeOf(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? ['second', 1]
  const count = Math.floor(seconds / length)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** Whether the database and each wire work. */
export const Health = ({
  health: { database, latencyMs, uptime, storage, wires },
  isWell,
}: {
  health: HealthReply
  /** Whether sixwire doctor finds nothing. */
  isWell: boolean
}) => (
  <section class="card" aria-label="Health">
    <div class="card-head">
      <h2>Health</h2>
      <span class="soft">running for {uptimeOf(uptime)}</span>
    </div>
    <ul class="states">
      <li>
        <span>Database{latencyMs !== null && <small class="soft"> {latencyMs.toFixed(1)} ms</small>}</span>
        <Badge tone={database === 'connected' ? 'good' : 'bad'}>{database}</Badge>
      </li>
      <li>
        <span>Storage</span>
        <Badge tone={storage === 'writable' ? 'good' : 'bad'}>{storage}</Badge>
      </li>
      {Object.entries(wires).map(([name, state]) => (
        <li key={name}>
          <Text>{name}</Text>
          <Badge tone={state === 'ready' ? 'good' : 'bad'}>{state}</Badge>
        </li>
      ))}
    </ul>
    {isWell && <p class="soft">No findings: every check of sixwire doctor passes.</p>}
  </section>
)
