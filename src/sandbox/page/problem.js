import { make } from './dom.js'

/**
 * What is wrong with a form, beside the field that it is about, which is described by it.
 *
 * @param {string} id
 */
export function createProblem(id) {
  const element = make('p', { class: 'fault', role: 'alert', id, hidden: true })
  let field

  return {
    element,
    clear() {
      element.hidden = true
      field?.removeAttribute('aria-invalid')
      field?.removeAttribute('aria-describedby')
    },
    /**
     * @param {Error} error
     * @param {Element} place where it is shown if it is about no field
     * @param {Element} [control] the field that it is about
     */
    show(error, place, control) {
      field = control
      field?.setAttribute('aria-invalid', 'true')
      field?.setAttribute('aria-describedby', id)
      if (field) (field.closest('label') ?? field).after(element)
      else place.append(element)
      element.textContent = error.message
      element.hidden = false
    },
  }
}
