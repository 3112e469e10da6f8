import { signal } from '@preact/signals'

import { href, Link } from '../../console/src/parts/router.tsx'
import { Badge, Facts, Id, Time } from '../../console/src/parts/text.tsx'
import { announce } from '../../console/src/parts/toast.tsx'
import { Command, Panes, Row, Title } from './panes.tsx'
import { Sent } from './reading.tsx'
import { ask, root } from './server.ts'
import { openIn } from './where.ts'

type ReceivedEvent = {
  id: string
  type: string
  eventId: string
  isVerified: boolean
  status: number | null
  receivedAt: string
  body: string
  headers: Record<string, string>
}

const SHOWN_MAX = 200

const CONFIGURATION = `// sixwire.config.ts
webhooks: [
  {
    url: '${location.origin}${root}/receiver',
    secret: 'whsec_${btoa('a secret of development alone')}',
    events: ['*'],
  },
],`

const events = signal<readonly ReceivedEvent[] | undefined>(undefined)

export async function refreshEvents(): Promise<void> {
  const before = events.peek() && new Set(events.peek()!.map(({ id }) => id))
  const now = (await ask<{ events: ReceivedEvent[] }>('GET', `/receiver?limit=${SHOWN_MAX}`)).events
  events.value = now
  const arrivals = before ? now.filter(({ id }) => !before.has(id)) : []
  if (arrivals.length === 1) announce(`New event: ${arrivals[0]!.type}`)
  else if (arrivals.length > 1) announce(`${arrivals.length} new events`)
}

/** The events that the server has sent to the receiver of the sandbox. */
export function Events() {
  const event = events.value?.find(({ id }) => id === openIn('events'))
  return (
    <Panes
      part="events"
      isEmpty={events.value && events.value.length === 0}
      empty={<Empty />}
      choose={<p>Choose an event to read it.</p>}
      rows={events.value?.map(({ id, type, eventId, isVerified, status, receivedAt }) => (
        <Row key={id} part="events" id={id} title={type || 'Not an event'} moment={<Time at={receivedAt} />}>
          <span class="line">
            <span class="preview">{eventId}</span>
            {isVerified ? <Answer status={status} /> : <Signature isVerified={false} />}
          </span>
        </Row>
      ))}
      reader={event && <Reader key={event.id} event={event} />}
    />
  )
}

const Empty = () => (
  <>
    <h2>No events yet</h2>
    <p>
      Events of the server arrive here if a webhook of its configuration has this address. What is created,
      paid or sent from then on is listed.
    </p>
    <Command text={CONFIGURATION} what="the configuration" />
    <p>
      Have the receiver fail or hang, and watch the retries: <Link to={href(['providers'])}>set a fault</Link>
    </p>
  </>
)

const Signature = ({ isVerified }: { isVerified: boolean }) => (
  <Badge tone={isVerified ? 'good' : 'bad'}>{isVerified ? 'verified' : 'wrong signature'}</Badge>
)

const Answer = ({ status }: { status: number | null }) => (
  <Badge tone={status === 204 ? 'good' : 'bad'}>{status === null ? 'no answer' : String(status)}</Badge>
)

const Reader = ({ event }: { event: ReceivedEvent }) => (
  <>
    <Title>{event.type || 'Not an event'}</Title>
    <Facts
      of={[
        ['Signature', <Signature isVerified={event.isVerified} />],
        ['Answered', <Answer status={event.status} />],
        ['Event', <Id>{event.eventId}</Id>],
        ['Received', <Time at={event.receivedAt} />],
      ]}
    />
    <Sent label="What has arrived" body={event.body} headers={event.headers} />
  </>
)
