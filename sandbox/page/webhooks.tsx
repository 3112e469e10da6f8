import { signal } from '@preact/signals'

import { messageOf } from '../../console/src/parts/load.tsx'
import { href, Link } from '../../console/src/parts/router.tsx'
import { Badge, Facts, Id, Time, type Tone } from '../../console/src/parts/text.tsx'
import { announce, toast } from '../../console/src/parts/toast.tsx'
import { Actions, choice, type PageAction } from './actions.tsx'
import type { SandboxFault } from './fault-form.tsx'
import { count, refresh } from './live.ts'
import { Panes, Row, Title } from './panes.tsx'
import { Sent } from './reading.tsx'
import { ask } from './server.ts'
import { openIn } from './where.ts'

type Webhook = {
  id: string
  provider: string
  type: string
  eventId: string
  objectId: string
  status: string
  attempts: number
  lastStatus: number | null
  lastError: string | null
  url: string
  body: string
  headers: Record<string, string> | null
  createdAt: string
  dueAt: string
  deliveredAt: string | null
}
type State = { faults: Record<string, SandboxFault>; webhooks: { held: number } }

const SHOWN_MAX = 200
const PROVIDERS: Readonly<Record<string, string>> = { cardpay: 'Cards', walletpay: 'Wallet' }
const MODES: Readonly<Record<string, string>> = {
  '': 'deliver',
  held: 'hold',
  lost: 'lose',
  doubled: 'double',
  late: 'late',
}
const DELAYS = { 30_000: '30 seconds', 300_000: '5 minutes', 3_600_000: '1 hour' }
const TONES: Readonly<Record<string, Tone>> = {
  waiting: 'warning',
  held: 'warning',
  delivered: 'good',
  failed: 'bad',
  lost: 'bad',
  dropped: 'plain',
}

const webhooks = signal<readonly Webhook[] | undefined>(undefined)
const provider = signal('')
/** What becomes of the webhooks of each provider. */
const modes = signal<Readonly<Record<string, string>>>({})

export async function refreshWebhooks(): Promise<void> {
  const before = webhooks.peek() && new Set(webhooks.peek()!.map(({ id }) => id))
  const filter = provider.peek() === '' ? '' : `&provider=${provider.peek()}`
  const [list, state] = await Promise.all([
    ask<{ webhooks: Webhook[] }>('GET', `/webhooks?limit=${SHOWN_MAX}${filter}`),
    ask<State>('GET', ''),
  ])
  webhooks.value = list.webhooks
  modes.value = Object.fromEntries(
    Object.keys(PROVIDERS).map((name) => [name, state.faults[name]?.callback ?? '']),
  )
  count('webhooks', state.webhooks.held)
  const arrivals = before ? list.webhooks.filter(({ id }) => !before.has(id)) : []
  if (arrivals.length === 1) announce(`New webhook: ${arrivals[0]!.type}`)
  else if (arrivals.length > 1) announce(`${arrivals.length} new webhooks`)
}

/** Chooses what becomes of a provider's webhooks; its other faults stay. */
async function setMode(name: string, mode: string): Promise<void> {
  // Not those that the page shows: they may be of a moment ago.
  const { faults } = await ask<State>('GET', '')
  const { callback: _, ...others } = faults[name] ?? {}
  await ask('PUT', `/faults/${name}`, { ...others, ...(mode !== '' && { callback: mode }) })
  announce(`Webhooks of ${PROVIDERS[name]!.toLowerCase()}: ${MODES[mode]}`)
}

/** What the providers have reported to the application. */
export function Webhooks() {
  const webhook = webhooks.value?.find(({ id }) => id === openIn('webhooks'))
  async function choose(name: string, mode: string): Promise<void> {
    await setMode(name, mode).catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
    await refresh('webhooks')
  }
  return (
    <Panes
      part="webhooks"
      isEmpty={webhooks.value && webhooks.value.length === 0}
      empty={<Empty />}
      choose={<p>Choose a webhook to read it.</p>}
      bar={
        <>
          <div class="filters" id="webhooks-bar">
            <label>
              Show
              <select
                id="webhooks-provider"
                value={provider.value}
                onChange={(event) => {
                  provider.value = event.currentTarget.value
                  void refresh('webhooks')
                }}
              >
                <option value="">all</option>
                <option value="cardpay">of cards</option>
                <option value="walletpay">of the wallet</option>
              </select>
            </label>
            {Object.entries(PROVIDERS).map(([name, title]) => (
              <label key={name}>
                {title}
                <select
                  value={modes.value[name] ?? ''}
                  onChange={(event) => void choose(name, event.currentTarget.value)}
                >
                  {Object.entries(MODES).map(([value, words]) => (
                    <option key={value} value={value}>
                      {words}
                    </option>
                  ))}
                </select>
              </label>
            ))}
          </div>
        </>
      }
      rows={webhooks.value?.map(({ id, type, objectId, status, createdAt }) => (
        <Row key={id} part="webhooks" id={id} title={type} moment={<Time at={createdAt} />}>
          <span class="line">
            <span class="preview">{objectId}</span>
            <Badge tone={TONES[status]}>{status}</Badge>
          </span>
        </Row>
      ))}
      reader={webhook && <Reader key={webhook.id} webhook={webhook} />}
    />
  )
}

const Empty = () => (
  <>
    <h2>No webhooks yet</h2>
    <p>
      Pay, refund or dispute something, and what the providers report to your application appears here.{' '}
      <Link to={href(['payments'])}>Go to the payments</Link>
    </p>
    <p>To look at a webhook before your application gets it, set a provider to hold.</p>
  </>
)

const Reader = ({ webhook }: { webhook: Webhook }) => (
  <>
    <Title>{webhook.type}</Title>
    <Facts of={factsOf(webhook)} />
    <Actions part="webhooks" actions={actionsOf(webhook)} />
    <Sent label="What is sent" body={webhook.body} headers={webhook.headers} />
  </>
)

/** What can be done with a webhook. */
function actionsOf({ id, status }: Webhook): readonly PageAction[] {
  const path = `/webhooks/${id}`
  const isPending = status === 'waiting' || status === 'held'
  const send: PageAction = {
    label: isPending || status === 'lost' ? 'Send now' : 'Send again',
    path: `${path}/resend`,
    done: 'The webhook is sent',
    isPrimary: true,
  }
  if (!isPending) return [send]
  return [
    send,
    {
      label: 'Delay',
      field: choice('ms', 'Delay by', DELAYS),
      path: `${path}/delay`,
      body: (ms) => ({ ms: Number(ms) }),
      done: 'The webhook is delayed',
    },
    { label: 'Drop', path: `${path}/drop`, done: 'The webhook is dropped' },
  ]
}

function factsOf(webhook: Webhook): Parameters<typeof Facts>[0]['of'] {
  const { status, attempts, lastStatus, lastError, deliveredAt } = webhook
  return [
    ['Status', <Badge tone={TONES[status]}>{status}</Badge>],
    ['Provider', PROVIDERS[webhook.provider] ?? webhook.provider],
    ['Event', <Id what="the id of the event">{webhook.eventId}</Id>],
    ['About', <Id>{webhook.objectId}</Id>],
    ['Sent to', <code>{webhook.url}</code>],
    ['Attempts', attempts],
    attempts > 0 && ['Last answer', [lastStatus, lastError].filter((one) => one !== null).join(' ')],
    ['Created', <Time at={webhook.createdAt} />],
    status === 'waiting' && ['Due', <Time at={webhook.dueAt} />],
    deliveredAt && ['Delivered', <Time at={deliveredAt} />],
  ]
}
