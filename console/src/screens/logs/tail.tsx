import { useState } from 'preact/hooks'

import { Filters, type ListFilter } from '../../parts/filters.tsx'
import { Problem } from '../../parts/load.tsx'
import { place, setQuery } from '../../parts/router.tsx'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { Outcome, subjectOf } from './entry.tsx'
import { useFollow } from './follow.ts'

/** The newest entries of all processes as they come. */
export default function Tail(props: {
  filters: readonly ListFilter[]
  filterOf: (query: URLSearchParams) => Record<string, string | boolean | undefined>
}) {
  const [isPaused, setPaused] = useState(false)
  const filter = Object.entries(props.filterOf(place.value.query))
  const query = new URLSearchParams(
    filter.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )
  const { entries, isConnected, waiting, error, clear } = useFollow(query.toString(), isPaused)
  return (
    <div class="screen list tail">
      <section class="records" aria-label="Live log">
        <div class="bar">
          <h1 tabIndex={-1}>Logs</h1>
          <Badge tone={isConnected ? 'good' : 'warning'}>{isConnected ? 'following' : 'connecting…'}</Badge>
          <div class="buttons">
            <button type="button" class="small" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
              {isPaused ? `Continue${waiting > 0 ? ` (${waiting} new)` : ''}` : 'Pause'}
            </button>
            <button type="button" class="small" onClick={clear}>
              Clear
            </button>
            <button
              type="button"
              class="small"
              onClick={() => setQuery({ tail: undefined }, { replace: false })}
            >
              Back to the list
            </button>
          </div>
        </div>
        <Filters of={props.filters} />
        {error !== undefined && <Problem error={error} />}
        <div class="table" tabIndex={0} role="region" aria-label="Entries, newest first">
          <table>
            <caption class="quiet">Live log, newest first</caption>
            <thead>
              <tr>
                <th scope="col" class="when">
                  When
                </th>
                <th scope="col" class="outcome">
                  Result
                </th>
                <th scope="col">What</th>
                <th scope="col" class="minor code">
                  Code
                </th>
                <th scope="col" class="number minor took">
                  Time taken
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry._id}>
                  <td>
                    <Time at={entry.at} />
                  </td>
                  <td>
                    <Outcome entry={entry} />
                  </td>
                  <td>
                    <Text>{subjectOf(entry)}</Text>
                  </td>
                  <td class="minor">
                    <Text>{entry.code ?? ''}</Text>
                  </td>
                  <td class="number minor">{entry.ms === undefined ? '' : `${entry.ms.toFixed(1)} ms`}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {entries.length === 0 && (
            <p class="loading" role="status">
              Waiting for new entries. Requests of this page are left out.
            </p>
          )}
        </div>
      </section>
    </div>
  )
}
