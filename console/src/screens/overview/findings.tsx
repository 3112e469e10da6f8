import type { Api } from '../../../../client/src/index.ts'
import { Badge, Text } from '../../parts/text.tsx'

type Finding = Api['GET /core/overview']['reply']['findings'][number]

/** What is misconfigured or broken, as sixwire doctor says it; nothing if all is well. */
export const Findings = ({ findings }: { findings: readonly Finding[] }) =>
  findings.length === 0 ? null : (
    <section class="card" aria-label="Findings">
      <div class="card-head">
        <h2>Findings</h2>
      </div>
      <ul class="findings">
        {findings.map(({ check, severity, problem, remedy, opens }) => (
          <li key={check + problem}>
            <Badge tone={severity === 'fault' ? 'bad' : 'warning'}>{severity}</Badge>
            <div>
              <p>
                <Text>{problem}</Text>
              </p>
              {remedy !== '' && (
                <p class="soft">
                  <Text>{remedy}</Text>
                </p>
              )}
            </div>
            {opens && (
              <a class="button small" href={`#/${opens.at}`}>
                <Text>{opens.title}</Text>
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
