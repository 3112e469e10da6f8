import { ask } from './api.js'
import { actionBar, choice } from './actions.js'
import { byId, make, time, update } from './dom.js'
import { createPanes, row } from './panes.js'
import { source } from './source.js'

const SHOWN_MAX = 200
const PROVIDERS = { cardpay: 'Cards', walletpay: 'Wallet' }
const MODES = { '': 'deliver', held: 'hold', lost: 'lose', doubled: 'double', late: 'late' }
const DELAYS = { 30_000: '30 seconds', 300_000: '5 minutes', 3_600_000: '1 hour' }
const TONES = {
  waiting: 'warning',
  held: 'warning',
  delivered: 'good',
  failed: 'bad',
  lost: 'bad',
  dropped: '',
}

/** @param {{ announce(text: string): void, count(part: string, number: number): void }} page */
export function createWebhooks(page) {
  const panes = createPanes('webhooks', {
    empty: [
      make('h2', {}, 'No webhooks yet'),
      make(
        'p',
        {},
        'Pay, refund or dispute something, and what the providers report to your application appears here. ',
        make('a', { href: '#payments' }, 'Go to the payments'),
      ),
      make('p', {}, 'To look at a webhook before your application gets it, set a provider to hold.'),
    ],
    choose: 'Choose a webhook to read it.',
  })
  const provider = byId('webhooks-provider')
  const fault = byId('webhooks-fault')
  const switches = new Map(Object.entries(PROVIDERS).map(([name, title]) => [name, modeSwitch(name, title)]))
  const actions = actionBar('webhooks', page, refresh)
  let webhooks
  let openId

  byId('webhooks-bar').append(...Array.from(switches.values(), ({ element }) => element))
  provider.addEventListener('change', () => void refresh())

  /** Chooses what becomes of a provider's webhooks; its other faults stay. */
  function modeSwitch(name, title) {
    const select = make(
      'select',
      { change: () => void setMode(name, select.value) },
      ...Object.entries(MODES).map(([value, words]) => make('option', { value }, words)),
    )
    return { select, element: make('label', {}, title, select) }
  }

  async function setMode(name, mode) {
    try {
      // Not those that the page shows: they may be of a moment ago.
      const { faults } = await ask('GET', '')
      const { callback: _, ...others } = faults[name] ?? {}
      await ask('PUT', `/faults/${name}`, { ...others, ...(mode !== '' && { callback: mode }) })
      fault.hidden = true
      page.announce(`Webhooks of ${PROVIDERS[name].toLowerCase()}: ${MODES[mode]}`)
    } catch (error) {
      fault.textContent = error.message
      fault.hidden = false
    }
    await refresh()
  }

  function show() {
    update(
      panes.list,
      webhooks.map(({ id, type, objectId, status, createdAt }) => ({
        id,
        type,
        objectId,
        status,
        createdAt,
        isOpen: id === openId,
      })),
      ({ id }) => id,
      webhookRow,
    )
    const webhook = webhooks.find(({ id }) => id === openId)
    panes.rest({ isEmpty: webhooks.length === 0, isChosen: webhook !== undefined })
    if (webhook) showWebhook(webhook)
  }

  function showWebhook(webhook) {
    const { id, type, body, headers } = webhook
    panes.fill(`webhook ${id}`, () => [
      panes.back('Back to the webhooks'),
      make('h3', { tabindex: -1 }, type),
      make('div', { class: 'stack' }),
      make('div', { class: 'stack grows' }),
    ])
    const [stack, content] = panes.reader.querySelectorAll(':scope > .stack')
    update(stack, [webhook], () => id, summary)
    update(
      content,
      [{ body, headers }],
      () => id,
      () => source('What is sent', body, headers),
    )
  }

  const summary = (webhook) => make('div', { class: 'stack' }, facts(webhook), actions(next(webhook)))

  /** What can be done with a webhook. */
  const next = ({ id, status }) => {
    const path = `/webhooks/${id}`
    const isPending = status === 'waiting' || status === 'held'
    return [
      {
        label: isPending || status === 'lost' ? 'Send now' : 'Send again',
        path: `${path}/resend`,
        done: 'The webhook is sent',
        isPrimary: true,
      },
      isPending && {
        label: 'Delay',
        field: choice('Delay by', DELAYS),
        path: `${path}/delay`,
        body: (ms) => ({ ms: Number(ms) }),
        done: 'The webhook is delayed',
      },
      isPending && { label: 'Drop', path: `${path}/drop`, done: 'The webhook is dropped' },
    ].filter(Boolean)
  }

  async function refresh() {
    const before = webhooks && new Set(webhooks.map(({ id }) => id))
    const filter = provider.value === '' ? '' : `&provider=${provider.value}`
    const [list, state] = await Promise.all([
      ask('GET', `/webhooks?limit=${SHOWN_MAX}${filter}`),
      ask('GET', ''),
    ])
    webhooks = list.webhooks
    for (const [name, { select }] of switches)
      if (document.activeElement !== select) select.value = state.faults[name]?.callback ?? ''
    page.count('webhooks', state.webhooks.held)
    show()
    const arrivals = before ? webhooks.filter(({ id }) => !before.has(id)) : []
    if (arrivals.length > 0)
      page.announce(
        arrivals.length === 1 ? `New webhook: ${arrivals[0].type}` : `${arrivals.length} new webhooks`,
      )
  }

  return {
    open(id) {
      const isOther = openId !== id
      openId = id
      panes.open(id)
      if (!webhooks) return
      show()
      if (isOther && id !== undefined) panes.focus()
    },
    refresh,
  }
}

const badge = (status) => make('span', { class: `badge ${TONES[status]}` }, status)

const webhookRow = ({ id, type, objectId, status, createdAt, isOpen }) =>
  row(
    { href: `#webhooks/${id}`, title: type, moment: time(createdAt), isOpen },
    make('span', { class: 'line' }, make('span', { class: 'preview' }, objectId), badge(status)),
  )

function facts({ provider, eventId, objectId, status, attempts, lastStatus, lastError, url, ...times }) {
  const at = (iso) => new Date(iso).toLocaleString()
  const entries = [
    ['Status', badge(status)],
    ['Provider', PROVIDERS[provider] ?? provider],
    ['Event', make('code', {}, eventId)],
    ['About', make('code', {}, objectId)],
    ['Sent to', make('code', {}, url)],
    ['Attempts', String(attempts)],
    ['Last answer', attempts > 0 && [lastStatus, lastError].filter((one) => one !== null).join(' ')],
    ['Created', at(times.createdAt)],
    ['Due', status === 'waiting' && at(times.dueAt)],
    ['Delivered', times.deliveredAt && at(times.deliveredAt)],
  ].filter(([, value]) => value)
  return make(
    'dl',
    { class: 'facts' },
    ...entries.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]),
  )
}
