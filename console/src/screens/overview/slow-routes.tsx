import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'

const SHOWN = 6

const ms = (value: number): string => `${value.toLocaleString(undefined, { maximumFractionDigits: 1 })} ms`

/** The routes that take longest, each with its entries of the log. */
export function SlowRoutes({ since }: { since: string }) {
  const loaded = useLoad((signal) => six.call('GET /core/logs/routes', { query: { since }, signal }), [since])
  return (
    <section class="card" aria-label="Slowest routes">
      <div class="card-head">
        <h2>Slowest routes</h2>
        <Link to={href(['logs'])}>Logs</Link>
      </div>
      <Show of={loaded}>
        {({ routes }) =>
          routes.length === 0 ? (
            <p class="soft">No requests in the log.</p>
          ) : (
            <div class="scroll" tabIndex={0} role="region" aria-label="Slowest routes by their mean time">
              <table class="queues">
                <thead>
                  <tr>
                    <th scope="col">Route</th>
                    <th scope="col" class="number">
                      Mean
                    </th>
                    <th scope="col" class="number">
                      Longest
                    </th>
                    <th scope="col" class="number">
                      Requests
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {routes.slice(0, SHOWN).map(({ method, route, requests, meanMs, maxMs }) => (
                    <tr key={`${method} ${route}`}>
                      <th scope="row">
                        <Link to={href(['logs'], { route, since })}>
                          <Text>{`${method} ${route}`}</Text>
                        </Link>
                      </th>
                      <td class="number">{ms(meanMs)}</td>
                      <td class="number">{ms(maxMs)}</td>
                      <td class="number">{requests.toLocaleString()}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Show>
    </section>
  )
}
