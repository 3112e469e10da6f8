import { ask } from './api.js'
import { make } from './dom.js'

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
  const problem = make('p', { class: 'fault', role: 'alert', hidden: true })
  const sent = make('p', { class: 'sent', role: 'status', hidden: true })
  let isBusy = false

  async function fund({ to, amount, token }) {
    if (isBusy) return
    isBusy = true
    problem.hidden = true
    sent.hidden = true
    try {
      const { hash } = await ask('POST', `${path}/pay`, {
        to: to.value.trim(),
        amount: amount.value.trim().replace(',', '.'),
        ...coin(token.value),
      })
      sent.replaceChildren(`${amount.value.trim()} ${token.value} sent: `, make('code', {}, hash))
      sent.hidden = false
    } catch (error) {
      problem.textContent = error.message
      problem.hidden = false
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
        void fund(event.currentTarget.elements)
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
    problem,
    sent,
  )
}
