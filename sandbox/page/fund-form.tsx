import type { TargetedSubmitEvent } from 'preact'
import { useRef, useState } from 'preact/hooks'

import { grouped, typedAmount } from './amounts.ts'
import { refresh } from './live.ts'
import { ask, AskError } from './server.ts'

/** The coins of the sandbox: the native one, and the token of its ERC-20 contract. */
export const NATIVE = 'ETH'
export const TOKEN = 'USDC'

/** The part of a request that names the coin. */
export const coin = (symbol: string): { token?: string } => (symbol === NATIVE ? {} : { token: symbol })

type Failure = { message: string; field: string }

/**
 * A form that sends coins of the sandbox to an address.
 *
 * @param props.path of the chain, below `/sandbox/api`
 */
export function FundForm({ path }: { path: string }) {
  const [failure, setFailure] = useState<Failure>()
  const [sent, setSent] = useState<{ amount: string; hash: string }>()
  const isBusy = useRef(false)

  async function fund(form: HTMLFormElement): Promise<void> {
    if (isBusy.current) return
    isBusy.current = true
    setFailure(undefined)
    setSent(undefined)
    const values = Object.fromEntries(new FormData(form)) as Record<string, string>
    const { to = '', token = '' } = values
    const amount = typedAmount((values['amount'] ?? '').trim())
    try {
      const { hash } = await ask<{ hash: string }>('POST', `${path}/pay`, {
        to: to.trim(),
        amount,
        ...coin(token),
      })
      setSent({ amount: `${grouped(amount)} ${token}`, hash })
    } catch (error) {
      const named = error instanceof AskError ? error.field : undefined
      const field = named !== undefined && form.elements.namedItem(named) ? named : 'amount'
      setFailure({ message: (error as Error).message, field })
      ;(form.elements.namedItem(field) as HTMLElement).focus()
    }
    isBusy.current = false
    await refresh('chains')
  }

  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault()
    void fund(event.currentTarget)
  }
  const problemOf = (field: string) =>
    failure?.field === field
      ? { 'aria-invalid': true, 'aria-describedby': 'chains-fund-problem' }
      : { 'aria-invalid': undefined, 'aria-describedby': undefined }

  return (
    <form class="panel" aria-labelledby="chains-fund" onSubmit={submit}>
      <h4 id="chains-fund">Fund an address</h4>
      <div class="fields">
        <label class="wide">
          Address
          <input
            name="to"
            required
            placeholder="0x…"
            autoComplete="off"
            spellcheck={false}
            {...problemOf('to')}
          />
        </label>
        {failure?.field === 'to' && <Fault>{failure.message}</Fault>}
        <label>
          Amount
          <input
            name="amount"
            required
            defaultValue="1"
            inputMode="decimal"
            autoComplete="off"
            {...problemOf('amount')}
          />
        </label>
        <label>
          Coin
          <select name="token" {...problemOf('token')}>
            {[NATIVE, TOKEN].map((symbol) => (
              <option key={symbol}>{symbol}</option>
            ))}
          </select>
        </label>
        <button class="primary">Fund</button>
        {failure && failure.field !== 'to' && <Fault>{failure.message}</Fault>}
      </div>
      {sent && (
        <p class="sent" role="status">
          {sent.amount} sent: <code>{sent.hash}</code>
        </p>
      )}
    </form>
  )
}

const Fault = ({ children }: { children: string }) => (
  <p class="fault" role="alert" id="chains-fund-problem">
    {children}
  </p>
)
