import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

import { Field, Form } from '../../console/src/parts/form.tsx'
import { messageOf } from '../../console/src/parts/load.tsx'
import { go, href } from '../../console/src/parts/router.tsx'
import { Copy } from '../../console/src/parts/text.tsx'
import { announce, toast } from '../../console/src/parts/toast.tsx'
import { refresh } from './live.ts'
import { ask } from './server.ts'
import { openIn, shown } from './where.ts'

type Account = { id: string; issuer: string; account: string; code: string; expiresInSeconds: number }
/** Until when each code is valid, by the clock of `performance`. */
type Shown = Omit<Account, 'expiresInSeconds'> & { endsAt: number }

const SECOND_MS = 1000

const accounts = signal<readonly Shown[] | undefined>(undefined)

export async function refreshAuthenticator(): Promise<void> {
  const answer = await ask<{ accounts: Account[] }>('GET', '/authenticator')
  const now = performance.now()
  accounts.value = answer.accounts.map(({ expiresInSeconds, ...account }) => ({
    ...account,
    endsAt: now + expiresInSeconds * SECOND_MS,
  }))
}

const nameOf = ({ issuer, account }: Pick<Account, 'issuer' | 'account'>): string =>
  issuer === '' ? account : `${issuer}, ${account}`

async function add(text: string): Promise<void> {
  const added = await ask<Account>('POST', '/authenticator', { uri: text })
  await refresh('authenticator')
  announce(`${nameOf(added)} was added`)
}

const fieldOf = (form: HTMLFormElement) => form.elements.namedItem('uri') as HTMLInputElement

function clear(form: HTMLFormElement): void {
  form.reset()
  fieldOf(form).focus()
}

/** The app on a phone that shows codes for signing in. */
export function Authenticator() {
  const panel = useRef<HTMLDivElement>(null)
  const formNow = () => panel.current!.querySelector('form')!
  const uri = openIn('authenticator')

  async function remove(account: Shown): Promise<void> {
    try {
      await ask('DELETE', `/authenticator/${account.id}`)
      await refresh('authenticator')
      announce(`${nameOf(account)} was removed`)
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
    fieldOf(formNow()).focus()
  }

  // An account of a link is not added again by the page's reload.
  useEffect(() => {
    if (uri === undefined) return
    go(href(['authenticator']), { replace: true })
    fieldOf(formNow()).value = uri
    formNow().requestSubmit()
  }, [uri])

  return (
    <section
      id="view-authenticator"
      class="column"
      aria-labelledby="authenticator-title"
      hidden={shown.value !== 'authenticator'}
    >
      <h2 id="authenticator-title">Authenticator</h2>
      <p class="lead">
        The app on a phone that shows codes for signing in. Add an account with the address of its QR code, or
        with the secret beside it.
      </p>
      <div id="authenticator-form" class="panel" ref={panel}>
        <h3>Add an account</h3>
        <Form label="Add an account" submit="Add" send={(value) => add(value('uri'))} done={clear}>
          <Field
            name="uri"
            label="Address or secret"
            required
            maxLength={2000}
            placeholder="otpauth://totp/…"
          />
        </Form>
      </div>
      <ul id="authenticator-list" class="cards" aria-labelledby="authenticator-title">
        {accounts.value?.map((account) => (
          <Card key={account.id} account={account} remove={() => void remove(account)} />
        ))}
      </ul>
      <p id="authenticator-none" class="lead" hidden={accounts.value?.length !== 0}>
        No accounts yet.
      </p>
    </section>
  )
}

function Card({ account, remove }: { account: Shown; remove: () => void }) {
  const { issuer, code, endsAt } = account
  return (
    <li class="card code-card">
      <span class="who">
        <strong>{issuer === '' ? account.account : issuer}</strong>
        {issuer !== '' && <span>{account.account}</span>}
      </span>
      <p class="code">
        <output aria-live="off">{code.replace(/^(\d{3})(\d{3})$/, '$1 $2')}</output>
        <Copy text={code} what={`the code of ${nameOf(account)}`} />
      </p>
      <p class="line">
        <span class="small left">{useSecondsLeft(endsAt)} s left</span>
        <button type="button" class="small" aria-label={`Remove ${nameOf(account)}`} onClick={remove}>
          Remove
        </button>
      </p>
    </li>
  )
}

/** How long a code is valid; the next ones are asked for as soon as it is not. */
function useSecondsLeft(endsAt: number): number {
  const leftOf = () => Math.max(0, Math.ceil((endsAt - performance.now()) / SECOND_MS))
  const [left, setLeft] = useState(leftOf)
  const isShown = shown.value === 'authenticator'
  useEffect(() => {
    setLeft(leftOf())
    if (!isShown) return
    const timer = setInterval(() => {
      setLeft(leftOf())
      if (leftOf() > 0) return
      clearInterval(timer)
      void refresh('authenticator')
    }, SECOND_MS / 2)
    return () => clearInterval(timer)
  }, [endsAt, isShown])
  return left
}
