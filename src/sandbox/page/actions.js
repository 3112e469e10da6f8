import { ask } from './api.js'
import { make } from './dom.js'
import { createProblem } from './problem.js'

/** A field of an action: a choice of values, each with its words. */
export const choice = (label, options) => ({
  label,
  make: (id) =>
    make(
      'select',
      { id },
      ...Object.entries(options).map(([value, words]) => make('option', { value }, words)),
    ),
})

/** A field of an action: text that may be empty. */
export const text = (label, placeholder) => ({
  label,
  make: (id) => make('input', { id, placeholder, inputmode: 'decimal', autocomplete: 'off' }),
})

/**
 * Makes the function that writes what can be done next with something, each as a form.
 *
 * @typedef {{ label: string, path: string, done: string | ((answer: object) => string),
 *   body?: (value?: string) => unknown, isPrimary?: boolean, isRepeatable?: boolean,
 *   field?: { label: string, make(id: string): HTMLElement } }} Action `body` gets what is in the field; a repeatable
 *   action stays, and so does the focus
 * @param {string} part
 * @param {{ announce(text: string): void }} page
 * @param {() => Promise<void>} refresh
 */
export const actionBar = (part, page, refresh) => (actions) => {
  let isBusy = false
  const problem = createProblem(`${part}-problem`)

  const form = (action, at) => {
    const { label, field, isPrimary } = action
    const id = `${part}-action-${at}`
    const control = field?.make(id)
    return make(
      'form',
      {
        class: 'action',
        submit(event) {
          event.preventDefault()
          void run(action, event.currentTarget, control)
        },
      },
      field && make('label', { for: id }, field.label),
      control,
      make('button', { class: isPrimary ? 'primary' : '' }, label),
    )
  }

  async function run({ path, body, done, isRepeatable }, form, control) {
    if (isBusy) return
    isBusy = true
    problem.clear()
    try {
      const answer = await ask('POST', path, body?.(control?.value.trim()))
      page.announce(typeof done === 'string' ? done : done(answer))
      // What was pressed will be gone, and what takes its place must not get the next press.
      if (!isRepeatable) document.querySelector(`#view-${part} .reader h3`)?.focus()
    } catch (error) {
      problem.show(error, form, control)
    }
    isBusy = false
    await refresh().catch(() => undefined)
  }

  return make('div', { class: 'actions' }, ...actions.map(form))
}
