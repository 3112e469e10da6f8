import { ask, isUnused, serverUrl, SIGN_IN } from './api.js'
import { command, linked, make, outside, time, update } from './dom.js'
import { createPanes, row } from './panes.js'

const CHANNELS = { sms: 'SMS', whatsapp: 'WhatsApp' }

/** The states of a message whose delivery is still under way, and of one that did not arrive. */
const UNDER_WAY = ['queued', 'sent']
const TONES = { delivered: 'good', undelivered: 'bad', failed: 'bad' }
const REFRESH_MS = 500

const SEND = `${SIGN_IN}
curl ${serverUrl}/messaging/sms \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"to": "+14155550123", "body": "Hello from the sandbox"}'`

/** @param {{ announce(text: string): void, count(part: string, number: number): void, retry(part: string): void }} page */
export function createPhone(page) {
  const panes = createPanes('phone', {
    empty: isUnused('phone')
      ? [
          make('h2', {}, 'No messages arrive here'),
          make('p', {}, 'The server sends them through the provider that is configured, not to this phone.'),
        ]
      : [
          make('h2', {}, 'No messages yet'),
          make(
            'p',
            {},
            'Send an SMS or a WhatsApp message and it appears here, one conversation per number. The sender needs an account with a verified address: follow the link in its mail first.',
          ),
          command(SEND, 'the command'),
        ],
    choose: 'Choose a number to read its messages.',
  })
  let messages
  let number
  let unread = 0
  let timer

  const conversations = () => Map.groupBy(messages, ({ to }) => to)

  function show() {
    const all = [...conversations()].map(([to, [newest, ...more]]) => ({
      to,
      body: newest.body,
      status: newest.status,
      receivedAt: newest.receivedAt,
      messages: more.length + 1,
      isOpen: to === number,
    }))
    update(panes.list, all, ({ to }) => to, numberRow)
    const conversation = number === undefined ? undefined : conversations().get(number)
    panes.rest({ isEmpty: messages.length === 0, isChosen: conversation !== undefined })
    if (conversation) showConversation(conversation.toReversed())
  }

  function showConversation(items) {
    panes.fill(`number ${number}`, () => [
      panes.back('Back to the numbers'),
      make('h3', { tabindex: -1 }, number),
      make('ol', { class: 'conversation', 'aria-label': `Messages to ${number}` }),
    ])
    const conversation = panes.reader.querySelector('ol')
    const count = conversation.children.length
    update(conversation, items, ({ id }) => id, bubble)
    if (conversation.children.length > count)
      conversation.lastElementChild.scrollIntoView({ block: 'nearest' })
  }

  const bubble = ({ channel, body, media, status, errorCode, receivedAt }) =>
    make(
      'li',
      { class: `bubble ${channel}` },
      make(
        'p',
        { class: 'meta' },
        make('span', { class: 'channel' }, CHANNELS[channel]),
        time(receivedAt),
        state(status, errorCode),
      ),
      make('p', { class: 'body' }, ...linked(body)),
      ...media.map((url) => make('p', { class: 'media' }, outside(url, url))),
    )

  return {
    open(to) {
      const isOther = number !== to
      number = to
      panes.open(to)
      unread = 0
      page.count('phone', 0)
      if (!messages) return
      show()
      if (isOther && to !== undefined) panes.focus()
    },
    async refresh() {
      const before = messages && new Set(messages.map(({ id }) => id))
      messages = (await ask('GET', '/phone?all=true')).messages
      show()
      // The state follows from the age of a message: no event reports it.
      clearTimeout(timer)
      if (messages.some(({ status }) => UNDER_WAY.includes(status)))
        timer = setTimeout(() => void this.refresh().catch(() => page.retry('phone')), REFRESH_MS)
      const arrivals = before ? messages.filter(({ id }) => !before.has(id)) : []
      for (const { channel, to } of arrivals) page.announce(`New ${CHANNELS[channel]} message for ${to}`)
      if (messages.length === 0) unread = 0
      else if (panes.view.hidden) unread += arrivals.length
      page.count('phone', unread)
    },
  }
}

const state = (status, errorCode) =>
  make(
    'span',
    { class: `badge ${TONES[status] ?? 'warning'}` },
    errorCode === null ? status : `${status}: error ${errorCode}`,
  )

const numberRow = ({ to, body, status, receivedAt, messages, isOpen }) =>
  row(
    { href: `#phone/${encodeURIComponent(to)}`, title: to, moment: time(receivedAt), isOpen },
    make(
      'span',
      { class: 'line' },
      make('span', { class: 'preview' }, body),
      TONES[status] === 'bad' && state(status, null),
    ),
    make('span', { class: 'quiet' }, `${messages} ${messages === 1 ? 'message' : 'messages'}`),
  )
