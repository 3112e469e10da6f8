/**
 * Creates an element. Children are elements or text; text is never parsed as HTML.
 *
 * @param {string} tag
 * @param {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} [attributes] a function is
 *   a listener; true adds an empty attribute, false and undefined add none
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
 * Updates a list and leaves unchanged elements alone, so that the reader keeps scroll position and focus.
 *
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => Element} write
 */
export function update(parent, items, keyOf, write) {
  const existing = new Map([...parent.children].map((element) => [element.dataset.key, element]))
  items.forEach((item, at) => {
    const key = keyOf(item)
    // Times of yesterday are written with their day.
    const text = `${new Date().toDateString()} ${JSON.stringify(item)}`
    let element = existing.get(key)
    existing.delete(key)
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
  for (const element of existing.values()) element.remove()
}

const FOCUSABLE = 'a[href], button, input, select, textarea, summary'

/** The index of the control in an element that has the focus; -1 if none has. */
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

/** Text with web addresses as links. */
export const linked = (text) =>
  text
    .split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/)
    .map((part, at) => (at % 2 === 1 ? outside(part, part) : part))

/** A link that opens in a new tab; plain text if it is not a web address. */
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
const yearDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })

/** A time element: the time of today, the day and the time of this year, or the day of an earlier one. */
export function time(iso) {
  const date = new Date(iso)
  const now = new Date()
  const isToday = date.toDateString() === now.toDateString()
  const format = isToday ? clockTime : date.getFullYear() === now.getFullYear() ? dayTime : yearDay
  return make('time', { datetime: iso, title: date.toLocaleString() }, format.format(date))
}

/** Moves the focus through the links of a list with the arrow keys, Home and End. */
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
