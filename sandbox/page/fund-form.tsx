import { useState } from 'preact/hooks'

import { Choice, Field, Form } from '../../console/src/parts/form.tsx'
import { grouped, typedAmount } from './amounts.ts'
import { refresh } from './live.ts'
import { ask } from './server.ts'

/** The coins of the sandbox: the native one, and the token of its ERC-20 contract. */
export const NATIVE = 'ETH'
export const TOKEN = 'USDC'

/** The part of a request that names the coin. */
export const coin = (symbol: string): { token?: string } => (symbol === NATIVE ? {} : { token: symbol })

/**
 * A form that sends coins of the sandbox to an address.
 *
 * @param props.path of the chain, below `/sandbox/api`
 */
export function FundForm({ path }: { path: string }) {
  const [sent, setSent] = useState<{ amount: string; hash: string }>()
  async function fund(value: (name: string) => string): Promise<void> {
    setSent(undefined)
    const token = value('token')
    const amount = typedAmount(value('amount').trim())
    try {
      const { hash } = await ask<{ hash: string }>('POST', `${path}/pay`, {
        to: value('to').trim(),
        amount,
        ...coin(token),
      })
      setSent({ amount: `${grouped(amount)} ${token}`, hash })
    } finally {
      void refresh('chains')
    }
  }
  return (
    <div class="panel">
      <h3>Fund an address</h3>
      <Form label="Fund an address" submit="Fund" send={fund}>
        <Field name="to" label="Address" required placeholder="0x…" />
        <Field name="amount" label="Amount" required defaultValue="1" inputMode="decimal" />
        <Choice name="token" label="Coin" options={[NATIVE, TOKEN].map((symbol) => [symbol, symbol])} />
      </Form>
      {sent && (
        <p class="sent" role="status">
          {sent.amount} sent: <code>{sent.hash}</code>
        </p>
      )}
    </div>
  )
}
