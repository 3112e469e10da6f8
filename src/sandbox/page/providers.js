import { ask } from './api.js'
import { byId, copyButton, make, update } from './dom.js'
import { createFaultForm } from './faults.js'

const NAMES = {
  mail: ['Mail', 'SMTP'],
  phone: ['Phone', 'Twilio'],
  idpa: ['Provider A', 'OpenID Connect'],
  idpb: ['Provider B', 'OAuth 2.0, like GitHub'],
  cardpay: ['Cards', 'Stripe'],
  walletpay: ['Wallet', 'PayPal'],
  chains: ['Chains', 'EVM nodes, JSON-RPC'],
  receiver: ['Receiver of events', 'Standard Webhooks'],
}

/** @param {{ announce(text: string): void, count(part: string, number: number): void }} page */
export function createProviders(page) {
  const list = byId('providers-list')
  const dialog = byId('reset-dialog')
  const cards = new Map()

  byId('reset').addEventListener('click', () => dialog.showModal())
  byId('reset-cancel').addEventListener('click', () => dialog.close())
  byId('reset-confirm').addEventListener('click', () => void reset())

  async function reset() {
    try {
      const { message } = await ask('DELETE', '')
      page.announce(message)
    } catch (error) {
      page.announce(error.message)
    }
    dialog.close()
  }

  async function refresh() {
    const { faults, ...standIns } = await ask('GET', '')
    page.count('providers', Object.keys(faults).length)
    for (const [name, { inUse, takesFaults, variables, ...state }] of Object.entries(standIns)) {
      if (!takesFaults) continue
      if (!cards.has(name)) {
        cards.set(name, inUse === false ? unusedCard(name) : card(name, variables))
        list.append(cards.get(name).element)
      }
      cards.get(name).show(state, faults[name])
    }
  }

  /** The card of a stand-in that nothing reaches: its state and faults would be misleading. */
  function unusedCard(name) {
    const [title, protocol] = NAMES[name] ?? [name, '']
    const element = make(
      'section',
      { class: 'panel provider', 'aria-labelledby': `provider-${name}` },
      make('h3', { id: `provider-${name}` }, title, ' ', make('span', { class: 'protocol' }, protocol)),
      make('p', {}, 'Not in use: a real provider is configured.'),
    )
    return { element, show() {} }
  }

  /** A card is created once, so that what is open or half typed in it stays when its figures change. */
  function card(name, variables) {
    const [title, protocol] = NAMES[name] ?? [name, '']
    const figures = make('div')
    const flag = make('span', { class: 'badge warning', hidden: true }, 'fault set')
    const faults = createFaultForm(name, (fault) => set(name, fault))
    const element = make(
      'section',
      { class: 'panel provider', 'aria-labelledby': `provider-${name}` },
      make('h3', { id: `provider-${name}` }, title, ' ', make('span', { class: 'protocol' }, protocol), flag),
      figures,
      Object.keys(variables).length > 0 &&
        make(
          'details',
          {},
          make('summary', {}, 'Environment variables'),
          rows(Object.entries(variables), true),
        ),
      faults.element,
    )
    return {
      element,
      show(state, fault) {
        flag.hidden = fault === undefined
        faults.show(fault)
        update(
          figures,
          [state],
          () => name,
          (figures) => rows(Object.entries(figures)),
        )
      },
    }
  }

  async function set(name, fault) {
    await ask('PUT', `/faults/${name}`, fault)
    page.announce(Object.keys(fault).length > 0 ? 'The fault is set' : 'The fault is removed')
    await refresh()
  }

  return { refresh, open() {} }
}

const words = (name) => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

/** A table of names and values; a value that has several is a table inside it. */
function rows(entries, isVariables = false) {
  return make(
    'dl',
    { class: 'facts' },
    ...entries.flatMap(([name, value]) => [
      make('dt', {}, isVariables ? make('code', {}, name) : words(name)),
      make(
        'dd',
        {},
        typeof value === 'object' && value !== null
          ? make('span', { class: 'nested' }, ...nested(value))
          : make('code', {}, String(value)),
        typeof value === 'string' && copyButton(value, name),
      ),
    ]),
  )
}

const nested = (value) =>
  Object.entries(value).map(([name, one]) =>
    make('span', {}, Array.isArray(value) ? '' : make('code', {}, name), ` ${inWords(one)}`),
  )

/** A value in one line; one with names and values in it is a list of these. */
function inWords(value) {
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return JSON.stringify(value)
  return Object.entries(value)
    .map(([name, one]) => `${words(name)} ${one}`)
    .join(', ')
}
