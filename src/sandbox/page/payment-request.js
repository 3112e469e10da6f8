import { actionBar, text } from './actions.js'
import { grouped, typedAmount } from './amounts.js'
import { copyButton, make, time, update } from './dom.js'
import { coin } from './fund-form.js'

const TONES = {
  pending: 'warning',
  detected: 'warning',
  confirmed: 'good',
  overpaid: 'good',
  underpaid: 'bad',
  late: 'bad',
}
const WORDS = {
  pending: 'Nothing has arrived yet.',
  detected: 'A payment is in a block that is not deep enough yet.',
  confirmed: 'All of it has arrived.',
  overpaid: 'More than asked for has arrived. The payment is completed.',
  underpaid: 'Less than asked for has arrived. The rest can be paid until it expires.',
  expired: 'It was not paid in time.',
  late: 'It was paid after it had expired. This completes nothing.',
}
/** The states in which a payment still counts. */
const OPEN = ['pending', 'detected', 'underpaid']

export const requestBadge = (status) => make('span', { class: `badge ${TONES[status] ?? ''}` }, status)

/**
 * What the reader shows of a payment request.
 *
 * @param {{ _id: string, chain: string, token: string, displayAmount: string, receiverAddress: string }} request
 * @param {{ announce(text: string): void }} page
 * @param {() => Promise<void>} refresh
 */
export function createRequestView({ _id, chain, token, displayAmount, receiverAddress }, page, refresh) {
  const actions = actionBar('chains', page, refresh)
  const facts = make('div')
  const next = make('div')
  const shown = `${grouped(displayAmount)} ${token}`
  const pay = [
    {
      label: 'Pay this request',
      path: `/chains/requests/${encodeURIComponent(_id)}/pay`,
      done: `${shown} are sent`,
      isPrimary: true,
    },
    {
      label: 'Pay another amount',
      field: text(`Amount in ${token}`, displayAmount),
      path: `/chains/${chain}/pay`,
      body: (typed) => ({
        to: receiverAddress,
        amount: typed === '' ? displayAmount : typedAmount(typed),
        ...coin(token),
      }),
      done: 'The amount is sent',
    },
  ]
  const mine = {
    label: 'Mine a block',
    path: `/chains/${chain}/mine`,
    body: () => ({}),
    done: 'The block is mined',
    isRepeatable: true,
  }
  return {
    elements: [make('h3', { tabindex: -1 }, shown), make('div', { class: 'stack' }, facts, next)],
    show(request) {
      update(facts, [request], () => _id, factsOf)
      update(
        next,
        [{ isOpen: OPEN.includes(request.status) }],
        () => _id,
        ({ isOpen }) =>
          make(
            'div',
            { class: 'panel' },
            make('h4', {}, 'What happens next'),
            actions([...(isOpen ? pay : []), mine]),
          ),
      )
    },
  }
}

function factsOf(request) {
  const { status, chain, token, receiverAddress, expiresAt, received, confirmations } = request
  const rows = [
    ['Status', requestBadge(status), ` ${WORDS[status] ?? ''}`],
    ...(received === '0'
      ? []
      : [
          ['Received', `${grouped(received)} ${token}`],
          ['Confirmations', String(confirmations)],
        ]),
    ...request.transactionHashes.map((hash) => [
      'Transaction',
      make('code', {}, hash),
      copyButton(hash, 'the transaction hash'),
    ]),
    ['Chain', make('a', { href: `#chains/${encodeURIComponent(chain)}` }, chain)],
    ['Receiving address', make('code', {}, receiverAddress), copyButton(receiverAddress, 'the address')],
    ['Expires', time(expiresAt)],
  ]
  return make(
    'dl',
    { class: 'facts copied' },
    ...rows.flatMap(([name, ...value]) => [make('dt', {}, name), make('dd', {}, ...value)]),
  )
}
