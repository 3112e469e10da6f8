import { grouped, typedAmount } from './amounts.js'
import { ask } from './api.js'
import { make } from './dom.js'
import { createProblem } from './problem.js'

/** The coins of the sandbox: the native one, and the token of its ERC-20 contract. */
export const NATIVE = 'ETH'
export const TOKEN = 'USDC'

/** The part of a request that names the coin. */
export const coin = (symbol) => (symbol === NATIVE ? {} : { token: symbol })

/**
 * A form that sends coins of the sandbox to an address.
 *
 * @param {string} path of the chain, below `/sandbox/api`
 * @param {() => Promise<void>} refresh
 */
export function createFundForm(path, refresh) {
  const problem = createProblem('chains-fund-problem')
  const sent = make('p', { class: 'sent', role: 'status', hidden: true })
  let isBusy = false

  async function fund(form) {
    if (isBusy) return
    isBusy = true
    problem.clear()
    sent.hidden = true
    const { to, amount, token } = form.elements
    const value = typedAmount(amount.value.trim())
    try {
      const { hash } = await ask('POST', `${path}/pay`, {
        to: to.value.trim(),
        amount: value,
        ...coin(token.value),
      })
      sent.replaceChildren(`${grouped(value)} ${token.value} sent: `, make('code', {}, hash))
      sent.hidden = false
    } catch (error) {
      const control = form.elements[error.field] ?? amount
      problem.show(error, form, control)
      control.focus()
    }
    isBusy = false
    await refresh().catch(() => undefined)
  }

  return make(
    'form',
    {
      class: 'panel',
      'aria-labelledby': 'chains-fund',
      submit(event) {
        event.preventDefault()
        void fund(event.currentTarget)
      },
    },
    make('h4', { id: 'chains-fund' }, 'Fund an address'),
    make(
      'div',
      { class: 'fields' },
      make(
        'label',
        { class: 'wide' },
        'Address',
        make('input', {
          name: 'to',
          required: true,
          placeholder: '0x…',
          autocomplete: 'off',
          spellcheck: 'false',
        }),
      ),
      make(
        'label',
        {},
        'Amount',
        make('input', {
          name: 'amount',
          required: true,
          value: '1',
          inputmode: 'decimal',
          autocomplete: 'off',
        }),
      ),
      make(
        'label',
        {},
        'Coin',
        make('select', { name: 'token' }, ...[NATIVE, TOKEN].map((symbol) => make('option', {}, symbol))),
      ),
      make('button', { class: 'primary' }, 'Fund'),
    ),
    sent,
  )
}
