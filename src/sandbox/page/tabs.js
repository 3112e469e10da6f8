import { make } from './dom.js'

/** Makes ids differ: several parts of the page have tabs. */
let count = 0

/**
 * Shows one panel at a time. The arrow keys change the tab: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 *
 * @param {string} label
 * @param {([string, () => Element] | false | null | undefined | '')[]} items names, and what makes the panels
 */
export function tabs(label, items) {
  const choices = items.filter(Boolean)
  const prefix = `tabs-${++count}`
  const panel = make('div', { class: 'panel-content', role: 'tabpanel' })
  const buttons = choices.map(([name], at) =>
    make('button', { role: 'tab', type: 'button', id: `${prefix}-${at}`, click: () => choose(at) }, name),
  )
  function choose(at) {
    buttons.forEach((button, other) => {
      button.setAttribute('aria-selected', String(other === at))
      button.tabIndex = other === at ? 0 : -1
    })
    panel.setAttribute('aria-labelledby', `${prefix}-${at}`)
    panel.replaceChildren(choices[at][1]())
  }
  const bar = make(
    'div',
    {
      class: 'tabs',
      role: 'tablist',
      'aria-label': label,
      keydown(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
        if (step === undefined) return
        const at = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length
        choose(at)
        buttons[at].focus()
      },
    },
    ...buttons,
  )
  choose(0)
  return make('div', { class: 'mail' }, bar, panel)
}
