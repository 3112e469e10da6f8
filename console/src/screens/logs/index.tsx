import { signal } from '@preact/signals'

import type { ListFilter } from '../../parts/filters.tsx'
import { Late } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { href, place, setQuery } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { EntryPane } from './entry-pane.tsx'
import { Caller, Outcome, subjectOf, type ShownLog } from './entry.tsx'

const ALL_FILTERS: readonly ListFilter[] = [
  { kind: 'search', name: 'q', label: 'Path, code or message' },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: ['2xx', '3xx', '4xx', '5xx'].map((status) => [status, status] as const),
  },
  {
    kind: 'choice',
    name: 'kind',
    label: 'Kind',
    options: [
      ['request', 'Requests'],
      ['problem', 'Warnings and errors'],
    ],
  },
  { kind: 'text', name: 'requestId', label: 'Request id' },
  { kind: 'text', name: 'caller', label: 'Caller: email or id' },
  { kind: 'text', name: 'route', label: 'Route' },
  { kind: 'text', name: 'fault', label: 'Fault' },
  { kind: 'text', name: 'since', label: 'Since' },
]

// Links set them; without that they only take room.
const OF_LINKS: ReadonlySet<string> = new Set(['caller', 'route', 'fault', 'since'])

const filtersOf = (query: URLSearchParams): readonly ListFilter[] =>
  ALL_FILTERS.filter(({ name }) => !OF_LINKS.has(name) || query.has(name))

/** What the filters in the address ask for. */
export function filterOf(query: URLSearchParams) {
  const at = (name: string): string | undefined => query.get(name) || undefined
  return {
    q: at('q'),
    status: at('status'),
    kind: at('kind') as ShownLog['kind'] | undefined,
    requestId: at('requestId'),
    caller: at('caller'),
    route: at('route'),
    fault: at('fault'),
    since: at('since'),
    // Who follows a link to one request or caller wants all of it.
    console: withConsole(query) || at('requestId') || at('caller') ? undefined : false,
  }
}

const withConsole = (query: URLSearchParams): boolean => query.get('console') === 'on'

/** What the last answer said beside its entries. */
const note = signal('')

async function loadEntries({
  cursor,
  signal: aborting,
}: {
  cursor: string | undefined
  signal: AbortSignal
}) {
  const { entries, nextCursor, omitted, keeps } = await six.call('GET /core/logs', {
    query: { ...filterOf(place.value.query), cursor, limit: 100 },
    signal: aborting,
  })
  note.value = keeps
    ? `Kept for ${keeps.days} days${omitted > 0 ? `; ${omitted.toLocaleString()} more were only counted` : ''}`
    : 'The request log is off: see SIXWIRE_REQUEST_LOG'
  return { rows: entries, nextCursor }
}

/** Requests, warnings and errors of all processes; or the newest as they come. */
export default function Logs() {
  const filters = filtersOf(place.value.query)
  const isWithConsole = withConsole(place.value.query)
  if (place.value.query.get('tail') === 'on')
    return <Late load={() => import('./tail.tsx')} props={{ filters, filterOf }} />
  return (
    <List<ShownLog>
      title="Logs"
      at={['logs']}
      idOf={({ _id }) => _id}
      nameOf={subjectOf}
      load={loadEntries}
      filters={filters}
      deps={[isWithConsole]}
      canBeLive
      columns={[
        { name: 'what', title: 'What', order: subjectOf, cell: (entry) => <Text>{subjectOf(entry)}</Text> },
        {
          name: 'outcome',
          title: 'Result',
          order: ({ status }) => status,
          cell: (entry) => <Outcome entry={entry} />,
          width: '84px',
        },
        {
          name: 'code',
          title: 'Code',
          order: ({ code }) => code,
          cell: ({ code }) => <Text>{code ?? ''}</Text>,
          isMinor: true,
          width: '190px',
        },
        {
          name: 'ms',
          title: 'Time taken',
          order: ({ ms }) => ms,
          cell: ({ ms }) => (ms === undefined ? '' : `${ms.toFixed(1)} ms`),
          isNumber: true,
          isMinor: true,
          width: '110px',
        },
        {
          name: 'caller',
          title: 'Caller',
          cell: ({ caller }) => <Caller of={caller} />,
          isMinor: true,
          width: '200px',
        },
        {
          name: 'at',
          title: 'When',
          order: ({ at }) => at,
          cell: ({ at }) => <Time at={at} />,
          width: '120px',
        },
      ]}
      buttons={() => (
        <>
          <span class="soft">{note.value}</span>
          <button
            type="button"
            class="small"
            aria-pressed={isWithConsole}
            title="Requests of this console and of others"
            onClick={() => setQuery({ console: isWithConsole ? undefined : 'on' })}
          >
            With the console
          </button>
          <button type="button" class="small" onClick={() => setQuery({ tail: 'on' }, { replace: false })}>
            Follow
          </button>
        </>
      )}
      empty={
        <p>
          Nothing was logged yet: a request shows within two seconds.{' '}
          <a href={href(['logs'], { tail: 'on' })}>Follow the log.</a>
        </p>
      }
      pane={(id, entry) => <EntryPane id={id} entry={entry} />}
    />
  )
}
