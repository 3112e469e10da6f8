import { arrowKeys, byId, make } from './dom.js'

/**
 * A list, and beside it what was chosen from it: `#view-<name>`, `#<name>-list` and `#<name>-reader` of the page.
 * Escape goes back from the reader to the list, where the focus was.
 *
 * @param {string} name
 * @param {{ empty: (Node | string)[], choose: string }} words what stands in the reader while nothing is there, and
 *   while nothing is chosen
 */
export function createPanes(name, words) {
  const list = byId(`${name}-list`)
  const reader = byId(`${name}-reader`)
  const view = byId(`view-${name}`)
  let openKey

  arrowKeys(list)
  view.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || openKey === undefined) return
    const key = openKey
    location.hash = `#${name}`
    requestAnimationFrame(() => list.querySelector(`[data-key="${CSS.escape(key)}"] a`)?.focus())
  })

  /** Fills the reader, unless it shows this already. Says whether it did. */
  function fill(state, write) {
    if (reader.dataset.state === state) return false
    reader.dataset.state = state
    reader.replaceChildren(...write())
    return true
  }

  return {
    list,
    reader,
    view,
    fill,
    /** @param {string | undefined} key what the reader is for from now on */
    open(key) {
      openKey = key
      view.classList.toggle('reading', key !== undefined)
    },
    /** What the reader shows where it shows nothing of the list; what it was for may be gone. */
    rest({ isEmpty, isChosen }) {
      view.classList.toggle('nothing', isEmpty)
      view.classList.toggle('reading', isChosen)
      if (isChosen) return
      fill(isEmpty ? 'empty' : 'choose', () => [
        make('div', { class: 'empty' }, ...(isEmpty ? words.empty : [make('p', {}, words.choose)])),
      ])
    },
    /** The way back where there is room for one pane only. */
    back: (text) => make('a', { class: 'back', href: `#${name}` }, text),
    /** Where the keyboard goes on once something was opened. */
    focus: () => reader.querySelector('h3')?.focus(),
  }
}

/** One row of a list, as a link to what it opens. */
export const row = ({ href, title, moment, isNew = false, isOpen }, ...lines) =>
  make(
    'li',
    { class: isNew ? 'new' : '' },
    make(
      'a',
      { href, 'aria-current': isOpen ? 'true' : undefined },
      make('span', { class: 'line' }, make('strong', { title }, title), moment),
      ...lines,
    ),
  )
