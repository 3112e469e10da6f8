import { byId } from './dom.js'
import { createInbox } from './inbox.js'
import { createPeople } from './people.js'
import { createPhone } from './phone.js'
import { createProviders } from './providers.js'

const POLL_MS = 2000
const HIDDEN_POLL_MS = 15_000

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
  poll,
}

const parts = {
  inbox: createInbox(page),
  phone: createPhone(page),
  people: createPeople(page),
  providers: createProviders(page),
}
// What is new is counted at all times; the rest is asked for while it is seen.
const ALWAYS = ['inbox', 'phone']

function whereNow() {
  const [name, id] = location.hash.slice(1).split('/')
  return Object.hasOwn(parts, name)
    ? { name, id: id ? decodeURIComponent(id) : undefined }
    : { name: 'inbox' }
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
  void poll()
}

let polling
let timer

/** Asks for what is new. Calls while one is under way wait for it, and for one more. */
async function poll() {
  clearTimeout(timer)
  const before = polling
  const mine = (async () => {
    await before
    const { name } = whereNow()
    const asked = [...new Set([...ALWAYS, name])].map((part) => parts[part].poll())
    const failed = (await Promise.allSettled(asked)).find(({ status }) => status === 'rejected')
    const connection = byId('connection')
    const text = failed ? 'The server does not answer: trying again.' : ''
    if (connection.textContent !== text) connection.textContent = text
  })()
  polling = mine
  await mine
  if (polling !== mine) return
  clearTimeout(timer)
  timer = setTimeout(() => void poll(), document.hidden ? HIDDEN_POLL_MS : POLL_MS)
}

document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault()
  byId('content').focus()
})
addEventListener('hashchange', goThere)
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void poll()
})
goThere()
