import type { Api } from '../../../../client/src/index.ts'
import { confirm, withProof } from '../../parts/dialog.tsx'
import { messageOf } from '../../parts/load.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

type Finding = Api['GET /core/overview']['reply']['findings'][number]
type Mend = NonNullable<Finding['mend']>

/** Makes the call of a mend, after its question if it has one. */
function begin({ label, call, body, asks, done }: Mend, again: () => void): void {
  async function act(): Promise<void> {
    await withProof(() => six.call(call as 'POST /core/jobs/retry', { body } as never))
    toast(done)
    again()
  }
  if (asks === undefined) act().catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
  else confirm({ title: `${label}?`, verb: label, children: <p>{asks}</p>, act })
}

/** What is misconfigured or broken, as sixwire doctor says it; nothing if all is well. */
export const Findings = ({ findings, again }: { findings: readonly Finding[]; again: () => void }) =>
  findings.length === 0 ? null : (
    <section class="card" aria-label="Findings">
      <div class="card-head">
        <h2>Findings</h2>
      </div>
      <ul class="findings">
        {findings.map(({ check, severity, problem, remedy, opens, mend }) => (
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
            <div class="buttons">
              {mend && (
                <button
                  type="button"
                  class="small primary"
                  disabled={!canWrite.value}
                  onClick={() => begin(mend, again)}
                >
                  <Text>{mend.label}</Text>
                </button>
              )}
              {opens && (
                <a class="button small" href={`#/${opens.at}`}>
                  <Text>{opens.title}</Text>
                </a>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
