import { useEffect } from 'preact/hooks'

import { List } from '../../parts/list.tsx'
import { messageOf, Show, useLoad } from '../../parts/load.tsx'
import { Provider, providerText } from '../../parts/names.tsx'
import { href, Link, queryValue } from '../../parts/router.tsx'
import type { LoadRows } from '../../parts/rows.ts'
import { canWrite, six } from '../../parts/session.ts'
import { Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { State } from '../payments/state.tsx'

const STATES = ['pending', 'done', 'ignored', 'failed'] as const
const PROVIDERS = ['cardpay', 'walletpay'] as const
const PAUSE_MS = 1_000

type ProviderEvent = Awaited<ReturnType<typeof fetchPage>>['events'][number]

function fetchPage(cursor: string | undefined, signal: AbortSignal) {
  return six.call('GET /pay/events', {
    query: {
      state: queryValue('state') as (typeof STATES)[number] | undefined,
      provider: queryValue('provider') as (typeof PROVIDERS)[number] | undefined,
      type: queryValue('type'),
      eventId: queryValue('eventId'),
      cursor,
      limit: 100,
      total: 'none',
    },
    signal,
  })
}

const load: LoadRows<ProviderEvent> = async ({ cursor, signal }) => {
  const { events, nextCursor } = await fetchPage(cursor, signal)
  return { rows: events, nextCursor }
}

const same = (values: readonly string[]) => values.map((value) => [value, value] as const)

/** What the payment providers reported, and how it was handled. */
export default function PaymentEvents() {
  return (
    <List<ProviderEvent>
      title="Payment events"
      at={['payment-events']}
      idOf={({ _id }) => _id}
      nameOf={({ type, eventId }) => `${type} ${eventId}`}
      load={load}
      canBeLive
      filters={[
        { kind: 'search', name: 'eventId', label: 'Id at the provider' },
        { kind: 'choice', name: 'state', label: 'State', options: same(STATES) },
        {
          kind: 'choice',
          name: 'provider',
          label: 'Provider',
          options: PROVIDERS.map((one) => [one, providerText(one)] as const),
        },
        { kind: 'text', name: 'type', label: 'Type' },
      ]}
      columns={[
        { name: 'type', title: 'Type', order: ({ type }) => type, cell: ({ type }) => <Text>{type}</Text> },
        {
          name: 'state',
          title: 'State',
          order: ({ state }) => state,
          cell: ({ state }) => <State of={state} />,
          width: '90px',
        },
        {
          name: 'why',
          title: 'Why',
          order: ({ reason }) => reason,
          cell: ({ reason }) => (reason ? <Text>{reason}</Text> : <span class="soft">–</span>),
          isMinor: true,
        },
        {
          name: 'provider',
          title: 'Provider',
          order: ({ provider }) => provider,
          cell: ({ provider }) => <Provider of={provider} />,
          width: '150px',
          isMinor: true,
        },
        {
          name: 'at',
          title: 'Received',
          order: ({ receivedAt }) => receivedAt,
          cell: (one) => <Time at={one.receivedAt} />,
          width: '120px',
        },
      ]}
      empty={<p>No events yet. They appear here when a provider calls the webhook of this server.</p>}
      pane={(id, _row, again) => <EventPane id={id} key={id} changed={again} />}
    />
  )
}

function EventPane({ id, changed }: { id: string; changed: () => void }) {
  const event = useLoad((signal) => six.call('GET /pay/events/:id', { params: { id }, signal }), [id])
  const isPending = event.value?.state === 'pending'
  useEffect(() => {
    if (!isPending || event.isLoading) return
    const timer = setTimeout(event.again, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [isPending, event.isLoading])
  async function replay(): Promise<void> {
    try {
      await six.call('POST /pay/events/:id/replay', { params: { id } })
      toast('The event is handled again.')
      event.again()
      changed()
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
  }
  return (
    <Show of={event}>
      {(one) => (
        <>
          <h2 tabIndex={-1}>
            <Text>{one.type}</Text> <State of={one.state} />
          </h2>
          {one.subject && (
            <div class="buttons">
              <button type="button" disabled={!canWrite.value || isPending} onClick={() => void replay()}>
                Handle again
              </button>
            </div>
          )}
          <Facts
            of={[
              one.reason !== undefined && ['Why', <Text>{one.reason}</Text>],
              ['Provider', <Provider of={one.provider} />],
              ['Id at the provider', <Id>{one.eventId}</Id>],
              ['Received', <Time at={one.receivedAt} />],
              ['Attempts', String(one.attempts)],
              one.nextAttemptAt !== undefined && ['Next attempt', <Time at={one.nextAttemptAt} />],
              one.transactionId !== undefined && [
                'Payment',
                <Link to={href(['payments', one.transactionId])}>{one.transactionId}</Link>,
              ],
              ['Id', <Id>{one._id}</Id>],
            ]}
          />
          {one.subject && (
            <>
              <h3>What it is about</h3>
              <Json value={one.subject} label="What the event is about" />
            </>
          )}
          <h3>What was sent</h3>
          {one.payload ? (
            <>
              <p class="soft">Names, addresses and free text are ***.</p>
              <Json value={one.payload} label="What was sent" />
            </>
          ) : (
            <p>It was read from the provider’s list of events, or is too large to be stored.</p>
          )}
        </>
      )}
    </Show>
  )
}
