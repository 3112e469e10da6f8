import { ask, root } from './api.js'
import { command, make, time, update } from './dom.js'
import { createPanes, row } from './panes.js'
import { source } from './source.js'

const SHOWN_MAX = 200

const CONFIGURATION = `// sixwire.config.ts
webhooks: [
  {
    url: '${location.origin}${root}/receiver',
    secret: 'whsec_${btoa('a secret of development alone')}',
    events: ['*'],
  },
],`

/** @param {{ announce(text: string): void, count(part: string, number: number): void }} page */
export function createEvents(page) {
  const panes = createPanes('events', {
    empty: [
      make('h2', {}, 'No events yet'),
      make(
        'p',
        {},
        'Events of the server arrive here if a webhook of its configuration has this address. What is created, paid or sent from then on is listed.',
      ),
      command(CONFIGURATION, 'the configuration'),
      make(
        'p',
        {},
        'Have the receiver fail or hang, and watch the retries: ',
        make('a', { href: '#providers' }, 'set a fault'),
      ),
    ],
    choose: 'Choose an event to read it.',
  })
  let events
  let openId

  function show() {
    update(
      panes.list,
      events.map((event) => ({ ...event, isOpen: event.id === openId })),
      ({ id }) => id,
      eventRow,
    )
    const event = events.find(({ id }) => id === openId)
    panes.rest({ isEmpty: events.length === 0, isChosen: event !== undefined })
    if (event) showEvent(event)
  }

  function showEvent(event) {
    const { id, type, body, headers } = event
    panes.fill(`event ${id}`, () => [
      panes.back('Back to the events'),
      make('h3', { tabindex: -1 }, type || 'Not an event'),
      make('div', { class: 'stack' }),
      make('div', { class: 'stack grows' }),
    ])
    const [stack, content] = panes.reader.querySelectorAll(':scope > .stack')
    update(stack, [event], () => id, facts)
    update(
      content,
      [{ body, headers }],
      () => id,
      () => source('What has arrived', body, headers),
    )
  }

  async function refresh() {
    const before = events && new Set(events.map(({ id }) => id))
    events = (await ask('GET', `/receiver?limit=${SHOWN_MAX}`)).events
    show()
    const arrivals = before ? events.filter(({ id }) => !before.has(id)) : []
    if (arrivals.length > 0)
      page.announce(
        arrivals.length === 1 ? `New event: ${arrivals[0].type}` : `${arrivals.length} new events`,
      )
  }

  return {
    open(id) {
      const isOther = openId !== id
      openId = id
      panes.open(id)
      if (!events) return
      show()
      if (isOther && id !== undefined) panes.focus()
    },
    refresh,
  }
}

const signature = (isVerified) =>
  make('span', { class: `badge ${isVerified ? 'good' : 'bad'}` }, isVerified ? 'verified' : 'wrong signature')

const answer = (status) =>
  make(
    'span',
    { class: `badge ${status === 204 ? 'good' : 'bad'}` },
    status === null ? 'no answer' : String(status),
  )

const eventRow = ({ id, type, eventId, isVerified, status, receivedAt, isOpen }) =>
  row(
    { href: `#events/${id}`, title: type || 'Not an event', moment: time(receivedAt), isOpen },
    make(
      'span',
      { class: 'line' },
      make('span', { class: 'preview' }, eventId),
      isVerified ? answer(status) : signature(false),
    ),
  )

const facts = ({ eventId, isVerified, status, receivedAt }) =>
  make(
    'dl',
    { class: 'facts' },
    ...[
      ['Signature', signature(isVerified)],
      ['Answered', answer(status)],
      ['Event', make('code', {}, eventId)],
      ['Received', new Date(receivedAt).toLocaleString()],
    ].flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
  )
