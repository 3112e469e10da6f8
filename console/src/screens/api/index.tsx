import { useRef, useState } from 'preact/hooks'

import type { DescribedRoute } from '../../code/route-calls.ts'
import { Late } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { place } from '../../parts/router.tsx'
import { Text } from '../../parts/text.tsx'
import { loadRoutes } from './routes.ts'

// What applications call most is first; before them their own wires.
const WIRES = ['auth', 'store', 'pay', 'messaging', 'onchain', 'core']

const byWire = (a: DescribedRoute, b: DescribedRoute): number => WIRES.indexOf(a.wire) - WIRES.indexOf(b.wire)

type Loaded = { filter: string; routes: readonly DescribedRoute[] }

/** The routes of all wires, and each as code. */
export default function Api() {
  const loaded = useRef<Loaded>(undefined)
  const [wires, setWires] = useState<readonly string[]>(WIRES)
  async function load({ signal }: { signal: AbortSignal }) {
    const { query } = place.value
    const [q, wire] = [(query.get('q') ?? '').toLowerCase(), query.get('wire') ?? '']
    const filter = JSON.stringify([q, wire])
    // Only a list that is loaded again asks the server again.
    const routes =
      loaded.current && loaded.current.filter !== filter
        ? loaded.current.routes
        : (await loadRoutes(signal)).toSorted(byWire)
    loaded.current = { filter, routes }
    setWires([...new Set(routes.map((one) => one.wire))])
    const words = q.split(/\s+/)
    return {
      rows: routes.filter((one) => {
        const text = `${one.method} ${one.path} ${one.summary}`.toLowerCase()
        return (wire === '' || one.wire === wire) && words.every((word) => text.includes(word))
      }),
    }
  }
  return (
    <List<DescribedRoute>
      title="API"
      at={['api']}
      idOf={({ id }) => id}
      load={load}
      filters={[
        { kind: 'search', name: 'q', label: 'What a route does, or its path' },
        { kind: 'choice', name: 'wire', label: 'Wire', options: wires.map((one) => [one, one]) },
      ]}
      columns={[
        {
          name: 'route',
          title: 'Route',
          cell: ({ method, path }) => (
            <code>
              {method} <Text>{path}</Text>
            </code>
          ),
        },
        { name: 'summary', title: 'Does', cell: ({ summary }) => <Text>{summary}</Text>, isMinor: true },
        { name: 'wire', title: 'Wire', cell: ({ wire }) => wire, width: '110px', isMinor: true },
      ]}
      empty={<p>There are no routes.</p>}
      pane={(id, route) =>
        route ? (
          <Late key={id} load={() => import('./route.tsx')} props={{ route }} />
        ) : (
          <h2 tabIndex={-1}>This route is not among those that are shown.</h2>
        )
      }
    />
  )
}
