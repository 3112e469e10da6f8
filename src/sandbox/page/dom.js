/**
 * Makes an element. Children are elements or text; text is never read as HTML.
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} [attributes] a function is
 *   a listener; true, false and undefined are what HTML means by them
 * @param {...(Node | string | undefined | false)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value))
  }
  element.append(...children.filter((child) => child !== undefined && child !== false))
  return element
}

/** @param {string} id */
export const byId = (id) => document.getElementById(id)

/**
 * Brings a list up to date and leaves what has not changed alone, so that nobody loses their place or focus.
 *
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => Element} write
 */
export function update(parent, items, keyOf, write) {
  const known = new Map([...parent.children].map((element) => [element.dataset.key, element]))
  items.forEach((item, at) => {
    const key = keyOf(item)
    const text = JSON.stringify(item)
    let element = known.get(key)
    known.delete(key)
    if (!element || element.dataset.text !== text) {
      const fresh = write(item)
      fresh.dataset.key = key
      fresh.dataset.text = text
      if (element) {
        const at = focusWithin(element)
        element.replaceWith(fresh)
        focusAgain(fresh, at)
      }
      element = fresh
    }
    if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null)
  })
  for (const gone of known.values()) gone.remove()
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary'

/** Which of an element's controls has the focus; -1 where none has. */
const focusWithin = (element) => [...element.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement)
const focusAgain = (element, at) => element.querySelectorAll(FOCUSABLE)[at]?.focus()

/** A button that copies text. */
export const copyButton = (text, what) =>
  make(
    'button',
    {
      class: 'copy',
      type: 'button',
      'aria-label': `Copy ${what}`,
      async click({ currentTarget }) {
        await navigator.clipboard.writeText(text)
        currentTarget.textContent = 'Copied'
        setTimeout(() => (currentTarget.textContent = 'Copy'), 1500)
      },
    },
    'Copy',
  )

/** A command to try, with a button that copies it. */
export const command = (text, what) =>
  make(
    'div',
    { class: 'command' },
    make('pre', { tabindex: 0 }, make('code', {}, text)),
    copyButton(text, what),
  )

/** Text in which addresses of the web are links. */
export const linked = (text) =>
  text
    .split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/)
    .map((part, at) => (at % 2 === 1 ? outside(part, part) : part))

/** A link that opens in a tab of its own; plain text where it is no address of the web. */
export const outside = (url, text) =>
  /^https?:\/\//i.test(url)
    ? make('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, text)
    : make('span', {}, text)

const clockTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dayTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** A moment: the time where it was today, and the day before it where not. */
export function time(iso) {
  const date = new Date(iso)
  const isToday = date.toDateString() === new Date().toDateString()
  return make(
    'time',
    { datetime: iso, title: date.toLocaleString() },
    (isToday ? clockTime : dayTime).format(date),
  )
}

/** Lets the arrow keys, Home and End go through the links of a list. */
export function arrowKeys(list) {
  list.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')]
    const at = links.indexOf(document.activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key]
    if (at < 0 || to === undefined) return
    event.preventDefault()
    links[to]?.focus()
  })
}
