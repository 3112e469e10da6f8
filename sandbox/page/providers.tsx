import { signal } from '@preact/signals'

import { confirm } from '../../console/src/parts/dialog.tsx'
import { Badge, Facts, Id } from '../../console/src/parts/text.tsx'
import { announce } from '../../console/src/parts/toast.tsx'
import { FaultForm, type SandboxFault } from './fault-form.tsx'
import { count, refresh } from './live.ts'
import { ask } from './server.ts'
import { shown } from './where.ts'

type StandIn = {
  inUse?: boolean
  takesFaults?: boolean
  variables: Record<string, string>
  /** Figures of any names. */
  [name: string]: unknown
}

const NAMES: Readonly<Record<string, readonly [title: string, protocol: string]>> = {
  mail: ['Mail', 'SMTP'],
  phone: ['Phone', 'Twilio'],
  idpa: ['Provider A', 'OpenID Connect'],
  idpb: ['Provider B', 'OAuth 2.0, like GitHub'],
  cardpay: ['Cards', 'Stripe'],
  walletpay: ['Wallet', 'PayPal'],
  chains: ['Chains', 'EVM nodes, JSON-RPC'],
  receiver: ['Receiver of events', 'Standard Webhooks'],
}

const standIns = signal<readonly (readonly [name: string, standIn: StandIn])[]>([])
const faults = signal<Readonly<Record<string, SandboxFault>>>({})

export async function refreshProviders(): Promise<void> {
  const { faults: now, ...others } = await ask<
    { faults: Record<string, SandboxFault> } & Record<string, StandIn>
  >('GET', '')
  faults.value = now
  count('providers', Object.keys(now).length)
  standIns.value = Object.entries(others as Record<string, StandIn>).filter(([, one]) => one.takesFaults)
}

async function setFault(name: string, fault: SandboxFault): Promise<void> {
  await ask('PUT', `/faults/${name}`, fault)
  announce(Object.keys(fault).length > 0 ? 'The fault is set' : 'The fault is removed')
  await refresh('providers')
}

/** The stand-ins, how to reach them, and their faults. */
export const Providers = () => (
  <section
    id="view-providers"
    class="column"
    aria-labelledby="providers-title"
    hidden={shown.value !== 'providers'}
  >
    <h2 id="providers-title">Providers</h2>
    <p class="lead">
      Each speaks the real provider's protocol. Set these variables to a real account, and the server uses
      that instead.
    </p>
    <div id="providers-list" class="providers">
      {standIns.value.map(([name, standIn]) => (
        <Provider key={name} name={name} standIn={standIn} fault={faults.value[name]} />
      ))}
    </div>
    <div class="panel">
      <h3>Reset</h3>
      <p>
        Deletes every mail, message, account of the authenticator, sign-in, added person, payment, webhook,
        event and local chain, and removes every fault. Your application's own records stay, also of payments
        that the providers no longer know.
      </p>
      <button id="reset" class="dangerous" type="button" onClick={askToReset}>
        Reset the sandbox
      </button>
    </div>
  </section>
)

const askToReset = (): void =>
  confirm({
    title: 'Reset the sandbox?',
    children: (
      <p>
        Every mail, message, account of the authenticator, sign-in, added person, payment, webhook, event and
        local chain is deleted. This cannot be undone.
      </p>
    ),
    verb: 'Reset',
    isCancelFocused: true,
    act: async () => announce((await ask<{ message: string }>('DELETE', '')).message),
  })

function Provider({
  name,
  standIn,
  fault,
}: {
  name: string
  standIn: StandIn
  fault: SandboxFault | undefined
}) {
  const { inUse, takesFaults: _, variables, ...figures } = standIn
  const [title, protocol] = NAMES[name] ?? [name, '']
  const id = `provider-${name}`
  return (
    <section class="panel provider" aria-labelledby={id}>
      <h3 id={id}>
        {title} <span class="soft">{protocol}</span>
        {inUse !== false && fault && <Badge tone="warning">fault set</Badge>}
      </h3>
      {/* What nothing reaches has no state and no faults that would mean anything. */}
      {inUse === false ? (
        <p>Not in use: a real provider is configured.</p>
      ) : (
        <>
          <Values of={figures} />
          {Object.keys(variables).length > 0 && (
            <details>
              <summary>Environment variables</summary>
              <Facts
                of={Object.entries(variables).map(([variable, value]) => [
                  variable,
                  <Id what={variable}>{value}</Id>,
                ])}
              />
            </details>
          )}
          <FaultForm name={name} fault={fault ?? {}} set={async (next) => setFault(name, next)} />
        </>
      )}
    </section>
  )
}

const words = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

/** Names and values; a value that has several is a list of them. */
const Values = ({ of }: { of: Readonly<Record<string, unknown>> }) => (
  <Facts
    of={Object.entries(of).map(([name, value]) => [
      words(name),
      typeof value === 'string' ? (
        <Id what={name}>{value}</Id>
      ) : typeof value === 'object' && value !== null ? (
        <Nested value={value} />
      ) : (
        <code>{String(value)}</code>
      ),
    ])}
  />
)

const Nested = ({ value }: { value: object }) => (
  <span class="nested">
    {Object.entries(value).map(([name, one]: [string, unknown]) => (
      <span key={name}>
        {!Array.isArray(value) && <code>{name}</code>} {inWords(one)}
      </span>
    ))}
  </span>
)

/** A value in one line; one with names and values in it is a list of these. */
function inWords(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return JSON.stringify(value)
  return Object.entries(value)
    .map(([name, one]) => `${words(name)} ${String(one)}`)
    .join(', ')
}
