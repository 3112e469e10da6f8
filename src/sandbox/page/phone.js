import { ask, serverUrl } from './api.js'
import { arrowKeys, byId, command, linked, make, outside, time, update } from './dom.js'

const CHANNELS = { sms: 'SMS', whatsapp: 'WhatsApp' }

const SEND = `curl ${serverUrl}/messaging/sms \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"to": "+14155550123", "body": "Hello from the sandbox"}'`

/** @param {{ announce(text: string): void, count(part: string, number: number): void }} page */
export function createPhone(page) {
  const list = byId('phone-list')
  const reader = byId('phone-reader')
  const view = byId('view-phone')
  let messages
  let number
  let unread = 0

  arrowKeys(list)
  view.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || number === undefined) return
    const was = number
    location.hash = '#phone'
    requestAnimationFrame(() => list.querySelector(`[data-key="${CSS.escape(was)}"] a`)?.focus())
  })

  const conversations = () => Map.groupBy(messages, ({ to }) => to)

  function show() {
    const all = [...conversations()].map(([to, [newest, ...more]]) => ({
      to,
      body: newest.body,
      receivedAt: newest.receivedAt,
      messages: more.length + 1,
      isOpen: to === number,
    }))
    update(list, all, ({ to }) => to, row)
    view.classList.toggle('nothing', messages.length === 0)
    const theirs = number === undefined ? undefined : conversations().get(number)
    if (theirs) showConversation(theirs.toReversed())
    else showNothing()
  }

  const row = ({ to, body, receivedAt, messages, isOpen }) =>
    make(
      'li',
      {},
      make(
        'a',
        { href: `#phone/${encodeURIComponent(to)}`, 'aria-current': isOpen ? 'true' : undefined },
        make('span', { class: 'line' }, make('strong', {}, to), time(receivedAt)),
        make('span', { class: 'preview' }, body),
        make('span', { class: 'quiet' }, `${messages} messages`),
      ),
    )

  function showNothing() {
    const state = messages.length === 0 ? 'empty' : 'choose'
    if (reader.dataset.state === state) return
    reader.dataset.state = state
    reader.replaceChildren(
      state === 'empty'
        ? make(
            'div',
            { class: 'empty' },
            make('h2', {}, 'No messages yet'),
            make(
              'p',
              {},
              'Send an SMS or a WhatsApp message and it appears here, one conversation a number.',
            ),
            command(SEND, 'the command'),
          )
        : make('div', { class: 'empty' }, make('p', {}, 'Choose a number to read its messages.')),
    )
  }

  function showConversation(theirs) {
    if (reader.dataset.state !== `number ${number}`) {
      reader.dataset.state = `number ${number}`
      reader.replaceChildren(
        make('a', { class: 'back', href: '#phone' }, 'Back to the numbers'),
        make('h3', { tabindex: -1 }, number),
        make('ol', { class: 'conversation', 'aria-label': `Messages to ${number}` }),
      )
    }
    const conversation = reader.querySelector('ol')
    const count = conversation.children.length
    update(conversation, theirs, ({ id }) => id, bubble)
    if (conversation.children.length > count)
      conversation.lastElementChild.scrollIntoView({ block: 'nearest' })
  }

  const bubble = ({ channel, body, media, receivedAt, status }) =>
    make(
      'li',
      { class: `bubble ${channel}` },
      make(
        'p',
        { class: 'meta' },
        make('span', { class: 'channel' }, CHANNELS[channel] ?? channel),
        time(receivedAt),
        status && make('span', {}, status),
      ),
      make('p', { class: 'body' }, ...linked(body ?? '')),
      ...addressesOf(media).map((url) => make('p', { class: 'media' }, outside(url, url))),
    )

  return {
    open(given) {
      const isOther = number !== given
      number = given
      view.classList.toggle('reading', given !== undefined)
      unread = 0
      page.count('phone', 0)
      if (!messages) return
      show()
      if (isOther && given !== undefined) reader.querySelector('h3')?.focus()
    },
    async poll() {
      const before = messages && new Set(messages.map(({ id }) => id))
      messages = (await ask('GET', '/phone')).messages
      show()
      const come = before ? messages.filter(({ id }) => !before.has(id)) : []
      for (const { channel, to } of come)
        page.announce(`New ${CHANNELS[channel] ?? channel} message for ${to}`)
      if (messages.length === 0) unread = 0
      else if (view.hidden) unread += come.length
      page.count('phone', unread)
    },
  }
}

/** A message's media are addresses, or objects that hold one. */
const addressesOf = (media) =>
  [media ?? []]
    .flat()
    .map((one) => (typeof one === 'string' ? one : one?.url))
    .filter(Boolean)
