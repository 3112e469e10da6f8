import { render, type ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'

import { Dialogs } from '../../console/src/parts/dialog.tsx'
import { href, Link } from '../../console/src/parts/router.tsx'
import { Toasts } from '../../console/src/parts/toast.tsx'
import { Authenticator, refreshAuthenticator } from './authenticator.tsx'
import { Chains, refreshChains } from './chains.tsx'
import { Events, refreshEvents } from './events.tsx'
import { Inbox, refreshInbox } from './inbox.tsx'
import { counts, isAnswered, start } from './live.ts'
import { Payments, refreshPayments } from './payments.tsx'
import { People, refreshPeople } from './people.tsx'
import { Phone, refreshPhone } from './phone.tsx'
import { Providers, refreshProviders } from './providers.tsx'
import { Webhooks, refreshWebhooks } from './webhooks.tsx'
import { PARTS, shown, type Part } from './where.ts'

const VIEWS: Readonly<Record<Part, readonly [view: ComponentType, refresh: () => Promise<void>]>> = {
  inbox: [Inbox, refreshInbox],
  phone: [Phone, refreshPhone],
  authenticator: [Authenticator, refreshAuthenticator],
  people: [People, refreshPeople],
  payments: [Payments, refreshPayments],
  chains: [Chains, refreshChains],
  webhooks: [Webhooks, refreshWebhooks],
  events: [Events, refreshEvents],
  providers: [Providers, refreshProviders],
}
/** Parts whose number is a warning, not news. */
const WARNINGS: readonly Part[] = ['webhooks', 'providers']

/** The page of the sandbox. All parts stay in it, so that what is half typed in one is there again. */
function Sandbox() {
  const mails = counts.value.inbox ?? 0
  useEffect(() => {
    document.title = mails > 0 ? `(${mails}) Sixwire sandbox` : 'Sixwire sandbox'
  }, [mails])
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById('content')?.focus()
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <h1>
          <img src={document.body.dataset['icon']} alt="" width={28} height={28} /> Sixwire{' '}
          <span>sandbox</span>
        </h1>
        <nav aria-label="Sandbox">
          {(Object.keys(PARTS) as Part[]).map((part) => (
            <PartLink key={part} part={part} />
          ))}
        </nav>
        <p class="connection" id="connection" role="status">
          {isAnswered.value ? '' : 'The server does not answer: trying again.'}
        </p>
      </header>
      <main id="content" tabIndex={-1}>
        {Object.entries(VIEWS).map(([part, [View]]) => (
          <View key={part} />
        ))}
      </main>
      <Dialogs />
      <Toasts />
    </>
  )
}

function PartLink({ part }: { part: Part }) {
  const number = counts.value[part] ?? 0
  return (
    <Link to={href([part])} current={shown.value === part}>
      {PARTS[part]}{' '}
      <span class={WARNINGS.includes(part) ? 'count warn' : 'count'} data-count={part} hidden={number === 0}>
        {number}
      </span>
    </Link>
  )
}

render(<Sandbox />, document.getElementById('root')!)
start(
  Object.fromEntries(Object.entries(VIEWS).map(([part, [, refresh]]) => [part, refresh])) as Record<
    Part,
    () => Promise<void>
  >,
)
