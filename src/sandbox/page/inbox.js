import { appUrl, ask, isUnused, root, serverUrl } from './api.js'
import { byId, command, linked, make, outside, time, update } from './dom.js'
import { createPanes, row } from './panes.js'
import { createProblem } from './problem.js'
import { rendered } from './rendered.js'
import { tabs } from './tabs.js'

const SHOWN_MAX = 200
const SEEN = 'sixwire-sandbox-seen'
const SEEN_MAX = 1000

const REGISTER = `curl ${serverUrl}/auth/register \\
  -H 'content-type: application/json' \\
  -d '{"email": "you@example.com", "password": "correct horse battery"}'`

/** @param {{ announce(text: string): void, count(part: string, number: number): void, retry(part: string): void }} page */
export function createInbox(page) {
  const panes = createPanes('inbox', {
    empty: isUnused('mail')
      ? [
          make('h2', {}, 'No mail arrives here'),
          make('p', {}, 'The server sends mail through the provider that is configured, not to this inbox.'),
        ]
      : [
          make('h2', {}, 'No mail yet'),
          make('p', {}, 'Register an account and its mail appears here:'),
          command(REGISTER, 'the command'),
          make('p', {}, 'Or do it in a browser, as your users would: ', make('a', { href: appUrl }, appUrl)),
        ],
    choose: 'Choose a mail to read it.',
  })
  const { list, reader } = panes
  const filter = byId('inbox-filter')
  const seen = new Set(JSON.parse(localStorage.getItem(SEEN) ?? '[]'))
  let messages
  /** What was found; undefined if nothing is searched for. */
  let matches
  let openId

  filter.addEventListener('input', () => void search().catch(() => page.retry('inbox')))
  filter.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') list.querySelector('a')?.focus()
  })

  /** Shows the mails with the text that is searched for: the server looks through whole mails. */
  async function search() {
    const wanted = filter.value.trim()
    const found =
      wanted === ''
        ? undefined
        : (await ask('GET', `/mail?limit=${SHOWN_MAX}&search=${encodeURIComponent(wanted)}`)).messages
    // Another text may have been typed meanwhile.
    if (filter.value.trim() !== wanted) return
    matches = found
    if (messages) show()
  }

  function show() {
    const shown = matches ?? messages
    update(
      list,
      shown.map(({ id, to, subject, text, receivedAt }) => ({
        id,
        to,
        subject,
        receivedAt,
        preview: (text ?? '').replaceAll(/\s+/g, ' ').slice(0, 120),
        isNew: !seen.has(id),
        isOpen: id === openId,
      })),
      ({ id }) => id,
      mailRow,
    )
    byId('inbox-none').hidden = shown.length > 0 || messages.length === 0
    page.count('inbox', messages.filter(({ id }) => !seen.has(id)).length)
    panes.rest({ isEmpty: messages.length === 0, isChosen: openId !== undefined })
  }

  async function open(id) {
    openId = id
    panes.open(id)
    if (id === undefined) return messages && show()
    if (!seen.has(id)) {
      seen.add(id)
      localStorage.setItem(SEEN, JSON.stringify([...seen].slice(-SEEN_MAX)))
    }
    if (messages) show()
    if (reader.dataset.state === `mail ${id}`) return
    if (await read(id)) panes.focus()
  }

  async function remove(id) {
    await ask('DELETE', `/mail/${encodeURIComponent(id)}`)
    page.announce('The mail is deleted')
    location.hash = '#inbox'
    await api.refresh()
    filter.focus()
  }

  /** Fetches a mail into the reader; returns whether it shows it. */
  async function read(id) {
    let state = `mail ${id}`
    let content
    try {
      content = mailView(panes, await ask('GET', `/mail/${encodeURIComponent(id)}`), () => remove(id))
    } catch (error) {
      state = error.status === 404 ? `no mail ${id}` : failed(id)
      if (state === failed(id)) page.retry('inbox')
      content = [make('div', { class: 'empty' }, make('p', { role: 'alert' }, error.message), back(panes))]
    }
    return openId === id && panes.fill(state, () => content)
  }

  const api = {
    open,
    async refresh() {
      if (openId !== undefined && reader.dataset.state === failed(openId)) void read(openId)
      const before = new Set(messages?.map(({ id }) => id))
      const isFirst = messages === undefined
      messages = (await ask('GET', `/mail?limit=${SHOWN_MAX}`)).messages
      await search()
      if (openId !== undefined && !isFirst && messages.length === 0) location.hash = '#inbox'
      show()
      if (isFirst) return
      const arrivals = messages.filter(({ id }) => !before.has(id))
      if (arrivals.length === 1) page.announce(`New mail for ${arrivals[0].to}: ${arrivals[0].subject}`)
      else if (arrivals.length > 1) page.announce(`${arrivals.length} new mails`)
    },
  }
  return api
}

const failed = (id) => `failed mail ${id}`

const back = (panes) => panes.back('Back to the inbox')

const mailRow = ({ id, to, subject, receivedAt, preview, isNew, isOpen }) =>
  row(
    { href: `#inbox/${id}`, title: to, moment: time(receivedAt), isNew, isOpen },
    make(
      'span',
      { class: 'subject' },
      isNew && make('span', { class: 'quiet' }, 'New: '),
      subject || '(no subject)',
    ),
    make('span', { class: 'preview' }, preview),
  )

function mailView(panes, mail, remove) {
  const problem = createProblem('inbox-problem')
  const facts = [
    ['From', mail.from],
    ['To', mail.to],
    ['Cc', mail.cc],
    ['Reply to', mail.replyTo],
    ['Received', new Date(mail.receivedAt).toLocaleString()],
  ].filter(([, value]) => value)
  return [
    back(panes),
    make('h3', { tabindex: -1 }, mail.subject || '(no subject)'),
    make(
      'dl',
      { class: 'facts' },
      ...facts.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
    ),
    mail.links.length > 0 &&
      make(
        'div',
        { class: 'links' },
        make('h4', {}, mail.links.length === 1 ? 'Link' : 'Links'),
        make('ul', {}, ...mail.links.map((url) => make('li', {}, outside(url, url)))),
      ),
    mail.attachments.length > 0 &&
      make(
        'div',
        { class: 'links' },
        make('h4', {}, 'Attachments'),
        make('ul', {}, ...mail.attachments.map((one) => make('li', {}, attachment(one)))),
      ),
    make(
      'div',
      { class: 'buttons' },
      make(
        'button',
        {
          type: 'button',
          click: ({ currentTarget }) =>
            void remove().catch((error) => problem.show(error, currentTarget.parentElement)),
        },
        'Delete this mail',
      ),
      make('a', { class: 'download', href: sourceUrl(mail.id), download: `${mail.id}.eml` }, 'Download it'),
    ),
    tabs('Ways to read it', [
      mail.html && ['Rendered', () => rendered(mail)],
      mail.text && ['Text', () => make('pre', { class: 'source', tabindex: 0 }, ...linked(mail.text))],
      mail.html && ['HTML', () => make('pre', { class: 'source', tabindex: 0 }, mail.html)],
      [
        'Headers',
        () =>
          make(
            'pre',
            { class: 'source', tabindex: 0 },
            mail.headers.map(({ name, value }) => `${name}: ${value}`).join('\n'),
          ),
      ],
      ['Source', () => source(mail.id)],
    ]),
  ].filter(Boolean)
}

const sourceUrl = (id) => `${root}/api/mail/${encodeURIComponent(id)}/source`

/** The message as it was accepted, once it is fetched. */
function source(id) {
  const element = make('pre', { class: 'source', tabindex: 0 })
  fetch(sourceUrl(id))
    .then((response) => response.text())
    .then(
      (text) => (element.textContent = text),
      () => (element.textContent = 'The server does not answer.'),
    )
  return element
}

function attachment({ filename, contentType, size, content }) {
  const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0))
  const name = filename || 'attachment'
  const href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  return make('span', {}, make('a', { href, download: name }, name), ` ${contentType}, ${size} bytes`)
}
