import { root } from './api.js'
import { createChains } from './chains.js'
import { byId } from './dom.js'
import { createEvents } from './events.js'
import { createInbox } from './inbox.js'
import { createPayments } from './payments.js'
import { createPeople } from './people.js'
import { createPhone } from './phone.js'
import { createProviders } from './providers.js'
import { createWebhooks } from './webhooks.js'

const RETRY_MS = 2000

const page = {
  announce(text) {
    byId('announcer').textContent = text
  },
  count(part, number) {
    const badge = document.querySelector(`[data-count="${part}"]`)
    badge.hidden = number === 0
    badge.textContent = String(number)
    if (part === 'inbox') document.title = number > 0 ? `(${number}) Sixwire sandbox` : 'Sixwire sandbox'
  },
  retry,
}

const parts = {
  inbox: createInbox(page),
  phone: createPhone(page),
  people: createPeople(page),
  payments: createPayments(page),
  chains: createChains(page),
  webhooks: createWebhooks(page),
  events: createEvents(page),
  providers: createProviders(page),
}
// New mail and messages are always counted; the rest is fetched only while it is shown.
const ALWAYS = ['inbox', 'phone']
// What the server calls otherwise, and what is shown in a second part: the faults of webhooks.
const SHOWN_IN = { cardpay: ['payments'], walletpay: ['payments'], providers: ['providers', 'webhooks'] }

/** An id may hold a slash, and may not be encoded: addresses are typed, too. */
function whereNow() {
  const [name, ...rest] = location.hash.slice(1).split('/')
  const id = rest.join('/')
  return Object.hasOwn(parts, name) ? { name, id: id === '' ? undefined : decoded(id) } : { name: 'inbox' }
}

function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Writes the times again when a day begins. */
function awaitMidnight() {
  const now = new Date()
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  setTimeout(() => {
    for (const name of wanted()) refresh(name)
    awaitMidnight()
  }, midnight - now)
}

function goThere() {
  const { name, id } = whereNow()
  for (const part of Object.keys(parts)) {
    byId(`view-${part}`).hidden = part !== name
    const link = document.querySelector(`nav a[href="#${part}"]`)
    if (part === name) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  void parts[name].open(id)
}

/** The last request of each part: they run one after the other. */
const asking = new Map()
/** The parts whose request failed, each with the timer of its retry. */
const retries = new Map()
let isStreamOpen = true

function showConnection() {
  const connection = byId('connection')
  const text = isStreamOpen && retries.size === 0 ? '' : 'The server does not answer: trying again.'
  if (connection.textContent !== text) connection.textContent = text
}

/** Fetches a part again later. */
function retry(name) {
  clearTimeout(retries.get(name))
  retries.set(name, setTimeout(refresh, RETRY_MS, name))
  showConnection()
}

/** Fetches what a part shows. */
function refresh(name) {
  const before = asking.get(name)
  const mine = (async () => {
    await before
    const timer = retries.get(name)
    try {
      await parts[name].refresh()
    } catch {
      return retry(name)
    }
    // A retry that was scheduled meanwhile stays.
    if (retries.get(name) !== timer) return
    clearTimeout(timer)
    retries.delete(name)
    showConnection()
  })()
  asking.set(name, mine)
}

const wanted = () => new Set([...ALWAYS, whereNow().name])

/** Listens to changes. No stream reports a change from before it was open, so everything is fetched then. */
function listen() {
  const events = new EventSource(`${root}/api/events`)
  events.addEventListener('open', () => {
    isStreamOpen = true
    showConnection()
    for (const name of wanted()) refresh(name)
  })
  events.addEventListener('change', ({ data }) => {
    for (const name of SHOWN_IN[data] ?? [data]) if (wanted().has(name)) refresh(name)
  })
  events.addEventListener('error', () => {
    isStreamOpen = false
    showConnection()
    // It reconnects by itself, but not after an answer such as 503, which a server sends while it starts.
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS)
  })
}

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault()
  byId('content').focus()
})
addEventListener('hashchange', () => {
  goThere()
  refresh(whereNow().name)
})
goThere()
listen()
awaitMidnight()
