import type { Api } from '../../../../client/index.ts'
import { Badge, Text } from '../../../parts/text.tsx'

type Finding = Api['GET /core/overview']['reply']['findings'][number]

/** What is misconfigured or broken, as sixwire doctor says it. */
export const Findings = ({ findings }: { findings: readonly Finding[] }) => (
  <section class="card" aria-label="Findings">
    <div class="card-head">
      <h2>Findings</h2>
    </div>
    {findings.length === 0 ? (
      <p class="soft">None: every check of sixwire doctor passes.</p>
    ) : (
      <ul class="findings">
        {findings.map(({ check, severity, problem, remedy }) => (
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
          </li>
        ))}
      </ul>
    )}
  </section>
)
