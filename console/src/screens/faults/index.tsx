import type { Api } from '../../../../client/src/index.ts'
import { List } from '../../parts/list.tsx'
import { messageOf } from '../../parts/load.tsx'
import { href, Link, queryValue } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Copy, Facts, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

type Fault = Api['GET /core/logs/faults']['reply']['faults'][number]

async function loadFaults({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { faults, nextCursor } = await six.call('GET /core/logs/faults', {
    query: {
      q: queryValue('q'),
      state: queryValue('state') as Fault['state'] | undefined,
      cursor,
      limit: 100,
    },
    signal,
  })
  return { rows: faults, nextCursor }
}

const State = ({ of: state }: { of: Fault['state'] }) => (
  <Badge tone={state === 'open' ? 'bad' : 'good'}>{state}</Badge>
)

/** Unexpected errors, grouped by the place that threw them. */
export default function Faults() {
  return (
    <List<Fault>
      title="Faults"
      at={['faults']}
      idOf={({ _id }) => _id}
      nameOf={({ name, message }) => `${name}: ${message}`}
      load={loadFaults}
      filters={[
        { kind: 'search', name: 'q', label: 'Name, message or place' },
        {
          kind: 'choice',
          name: 'state',
          label: 'State',
          options: [
            ['open', 'Open'],
            ['resolved', 'Resolved'],
          ],
        },
      ]}
      columns={[
        {
          name: 'error',
          title: 'Error',
          order: ({ name }) => name,
          cell: ({ name, message }) => (
            <>
              {name}{' '}
              <span class="soft">
                <Text>{message}</Text>
              </span>
            </>
          ),
        },
        {
          name: 'state',
          title: 'State',
          order: ({ state }) => state,
          cell: ({ state }) => <State of={state} />,
          width: '100px',
        },
        {
          name: 'count',
          title: 'Times',
          order: ({ count }) => count,
          cell: ({ count }) => count.toLocaleString(),
          isNumber: true,
          width: '80px',
          isMinor: true,
        },
        {
          name: 'last',
          title: 'Last',
          order: ({ lastAt }) => lastAt,
          cell: ({ lastAt }) => <Time at={lastAt} />,
          width: '120px',
        },
      ]}
      empty={<p>No unexpected error was logged. Expected errors are only in the logs.</p>}
      pane={(id, fault, again) => <FaultPane id={id} fault={fault} again={again} />}
    />
  )
}

function FaultPane({ id, fault, again }: { id: string; fault: Fault | undefined; again: () => void }) {
  if (!fault) return <h2 tabIndex={-1}>This fault is not among those that are loaded.</h2>
  const { name, message, place: at, stack, state, count, firstAt, lastAt, lastRequestId, resolvedAt } = fault
  const resolve = () =>
    void six.call('POST /core/logs/faults/:id/resolve', { params: { id } }).then(
      () => {
        toast('Resolved. It opens again if it happens again.')
        return again()
      },
      (error: unknown) => toast(messageOf(error), { tone: 'bad' }),
    )
  return (
    <>
      <h2 tabIndex={-1}>
        {name}: <Text>{message}</Text>
      </h2>
      <Facts
        of={[
          ['State', <State of={state} />],
          ['Times', count.toLocaleString()],
          ['First', <Time at={firstAt} />],
          ['Last', <Time at={lastAt} />],
          at !== undefined && ['Place', <code>{at}</code>],
          lastRequestId !== undefined && [
            'Last request',
            <Link to={href(['logs'], { requestId: lastRequestId })}>
              <Text>{lastRequestId}</Text>
            </Link>,
          ],
          resolvedAt !== undefined && ['Resolved', <Time at={resolvedAt} />],
        ]}
      />
      <div class="buttons">
        <button type="button" disabled={!canWrite.value || state === 'resolved'} onClick={resolve}>
          Resolve
        </button>
        <Link to={href(['logs'], { fault: id })}>All occurrences in the logs</Link>
      </div>
      {stack !== undefined && (
        <section aria-label="Stack">
          <h3>
            Stack <Copy text={stack} what="the stack" />
          </h3>
          <pre class="json" tabIndex={0} aria-label="Stack of the last occurrence">
            <Text>{stack}</Text>
          </pre>
        </section>
      )}
    </>
  )
}
