import type { Api } from '../../../../client/src/index.ts'
import { href, Link } from '../../parts/router.tsx'
import { Badge, Text } from '../../parts/text.tsx'

type Finding = Api['GET /core/overview']['reply']['findings'][number]

/** Where this page mends what a check found. */
const SCREENS: Readonly<Record<string, readonly [title: string, address: string]>> = {
  'auth: unverified users': ['Show these users', href(['users'], { state: 'unverified' })],
  'auth: second factors': ['Show the administrators', href(['users'], { role: 'admin' })],
  'failed jobs': ['Show the failed jobs', href(['jobs'], { state: 'failed' })],
  'core: webhooks': ['Show the webhooks', href(['webhooks'])],
  'pay: events': ['Show the payment events', href(['payment-events'])],
}

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
              {SCREENS[check] && <Link to={SCREENS[check][1]}>{SCREENS[check][0]}</Link>}
            </div>
          </li>
        ))}
      </ul>
    )}
  </section>
)
