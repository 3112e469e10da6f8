import { make } from './dom.js'

const CALLBACKS = { '': 'normal', lost: 'lost', doubled: 'sent twice', late: 'late' }
const WEBHOOKS = { ...CALLBACKS, held: 'held' }
/** What can become of the callbacks of each provider that has any. */
const CALLBACKS_OF = { mail: CALLBACKS, phone: CALLBACKS, cardpay: WEBHOOKS, walletpay: WEBHOOKS }

/** A fault in words. */
const inWords = ({ delayMs, error, loseAnswer, callback, times }) =>
  [
    delayMs && `answers after ${delayMs} ms`,
    error && `answers ${error}`,
    loseAnswer && 'loses its answer',
    callback && `callback ${WEBHOOKS[callback] ?? callback}`,
    times && `for ${times} ${times === 1 ? 'call' : 'calls'}`,
  ]
    .filter(Boolean)
    .join(', ')

/**
 * The form that sets a fault of a provider.
 *
 * @param {string} name
 * @param {(fault: object) => Promise<void>} set an empty fault removes it
 */
export function createFaultForm(name, set) {
  const number = (field, label, rest) =>
    make('label', {}, label, make('input', { name: field, type: 'number', inputmode: 'numeric', ...rest }))
  const inForce = make('p', { class: 'in-force', hidden: true })
  const problem = make('p', { class: 'fault', role: 'alert', hidden: true })
  const remove = make('button', { type: 'button', disabled: true, click: () => void change({}) }, 'Remove')
  const form = make(
    'form',
    {
      class: 'fields',
      submit(event) {
        event.preventDefault()
        void change(typed())
      },
    },
    number('delayMs', 'Delay in ms', { min: 0, max: 60_000, placeholder: 'none' }),
    number('error', name === 'mail' ? 'SMTP code' : 'HTTP status', {
      min: 400,
      max: 599,
      placeholder: 'none',
    }),
    number('times', 'Calls', { min: 1, placeholder: 'all' }),
    CALLBACKS_OF[name] &&
      make(
        'label',
        {},
        'Callback',
        make(
          'select',
          { name: 'callback' },
          ...Object.entries(CALLBACKS_OF[name]).map(([value, words]) => make('option', { value }, words)),
        ),
      ),
    make(
      'label',
      { class: 'check' },
      make('input', { name: 'loseAnswer', type: 'checkbox' }),
      'Lose the answer',
    ),
    make('span', { class: 'buttons' }, make('button', { class: 'primary' }, 'Set'), remove),
  )
  const element = make('details', {}, make('summary', {}, 'Faults'), inForce, form, problem)
  let shown = '{}'

  function typed() {
    const { delayMs, error, loseAnswer, callback, times } = form.elements
    return {
      ...(delayMs.value && { delayMs: Number(delayMs.value) }),
      ...(error.value && { error: Number(error.value) }),
      ...(loseAnswer.checked && { loseAnswer: true }),
      ...(callback?.value && { callback: callback.value }),
      ...(times.value && { times: Number(times.value) }),
    }
  }

  async function change(fault) {
    problem.hidden = true
    try {
      await set(fault)
    } catch (error) {
      problem.textContent = error.message
      problem.hidden = false
    }
  }

  return {
    element,
    /** Shows the fault that is set; input in the form stays unless it has changed. */
    show(fault = {}) {
      const text = JSON.stringify(fault)
      if (text === shown) return
      shown = text
      const words = inWords(fault)
      inForce.textContent = `In force: ${words}`
      inForce.hidden = words === ''
      remove.disabled = words === ''
      if (words !== '') element.open = true
      const { delayMs, error, loseAnswer, callback, times } = form.elements
      delayMs.value = fault.delayMs ?? ''
      error.value = fault.error ?? ''
      times.value = fault.times ?? ''
      loseAnswer.checked = fault.loseAnswer === true
      if (callback) callback.value = fault.callback ?? ''
    },
  }
}
