import { arrowKeys, byId, make } from './dom.js'

/**
 * A list and a reader beside it: `#view-<name>`, `#<name>-list` and `#<name>-reader` of the page. Escape moves the focus
 * from the reader back to its row in the list.
 *
 * @param {string} name
 * @param {{ empty: (Node | string)[], choose: string | Node[] }} words what the reader shows if the list is
 *   empty, and if nothing is chosen
 */
export function createPanes(name, words) {
  const list = byId(`${name}-list`)
  const reader = byId(`${name}-reader`)
  const view = byId(`view-${name}`)
  const choose = typeof words.choose === 'string' ? [make('p', {}, words.choose)] : words.choose
  let openKey

  arrowKeys(list)
  view.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || openKey === undefined) return
    const key = openKey
    location.hash = `#${name}`
    requestAnimationFrame(() => list.querySelector(`[data-key="${CSS.escape(key)}"] a`)?.focus())
  })

  /** Fills the reader unless it shows this state already; returns whether it did. */
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
    /** @param {string | undefined} key what the reader shows from now on */
    open(key) {
      openKey = key
      view.classList.toggle('reading', key !== undefined)
    },
    /** Fills the reader if nothing of the list is open; what was open may be deleted. */
    rest({ isEmpty, isChosen }) {
      view.classList.toggle('nothing', isEmpty)
      view.classList.toggle('reading', isChosen)
      if (isChosen) return
      fill(isEmpty ? 'empty' : 'choose', () => [
        make('div', { class: 'empty' }, ...(isEmpty ? words.empty : choose)),
      ])
    },
    /** The link back to the list, for screens with room for one pane. */
    back: (text) => make('a', { class: 'back', href: `#${name}` }, text),
    /** Moves the focus to what was opened. */
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
