import type { Api } from '../../../../client/src/index.ts'
import { href, Link } from '../../parts/router.tsx'

type JobCount = NonNullable<Api['GET /core/overview']['reply']['jobs']>[number]

const STATES = ['ready', 'running', 'waiting', 'failed'] as const

/** How many jobs of each kind wait, run and have failed. */
export function Jobs({ jobs }: { jobs: readonly JobCount[] }) {
  const kinds = [...new Set(jobs.map(({ kind }) => kind))].toSorted()
  const countOf = (kind: string, state: JobCount['state']): number =>
    jobs.find((one) => one.kind === kind && one.state === state)?.count ?? 0
  return (
    <section class="card" aria-label="Queues">
      <div class="card-head">
        <h2>Queues</h2>
        <Link to={href(['jobs'])}>Jobs</Link>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Jobs by kind and state">
        <table class="queues">
          <thead>
            <tr>
              <th scope="col">Kind</th>
              {STATES.map((state) => (
                <th key={state} scope="col" class="number">
                  {state}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {kinds.map((kind) => (
              <tr key={kind}>
                <th scope="row">{kind}</th>
                {STATES.map((state) => {
                  const count = countOf(kind, state)
                  return (
                    <td key={state} class={state === 'failed' && count > 0 ? 'number failed' : 'number'}>
                      {count === 0 ? <span class="soft">0</span> : count.toLocaleString()}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
