import { signal } from '@preact/signals'

import { announce } from '../../console/src/parts/toast.tsx'
import { grouped } from './amounts.ts'
import { ChainReader, refreshChain, type SandboxChain } from './chain.tsx'
import { Command, Panes, Row } from './panes.tsx'
import { RequestBadge, RequestReader, type SandboxPaymentRequest } from './payment-request.tsx'
import { ask, serverUrl, SIGN_IN } from './server.ts'
import { openIn } from './where.ts'

const WALLET = `${SIGN_IN}
curl ${serverUrl}/onchain/wallets \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"name": "my first wallet"}'`

const REQUEST = `curl ${serverUrl}/pay/onchain/payment \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"amount": "12.50", "token": "USDC", "chain": "ethereum"}'`

/** By name; undefined until they are fetched. */
const chains = signal<Readonly<Record<string, SandboxChain>> | undefined>(undefined)
const requests = signal<readonly SandboxPaymentRequest[]>([])

export async function refreshChains(): Promise<void> {
  const [nowChains, { requests: now }] = await Promise.all([
    ask<Record<string, SandboxChain>>('GET', '/chains'),
    ask<{ requests: SandboxPaymentRequest[] }>('GET', '/chains/requests'),
  ])
  const before = chains.peek() && new Map(requests.peek().map(({ _id, status }) => [_id, status]))
  chains.value = nowChains
  requests.value = now
  for (const { _id, displayAmount, token, status } of before ? now : [])
    if (before!.get(_id) !== status)
      announce(
        `${before!.has(_id) ? 'Payment request' : 'New payment request'} of ${grouped(displayAmount)} ${token}: ${status}`,
      )
  const open = openIn('chains')
  if (open !== undefined && Object.hasOwn(nowChains, open)) await refreshChain(open)
}

/** The local chains, and the payment requests that are paid on them. */
export function Chains() {
  const all = chains.value ?? {}
  const open = openIn('chains') ?? ''
  const request = requests.value.find(({ _id }) => _id === open)
  return (
    <Panes
      part="chains"
      isEmpty={chains.value && Object.keys(chains.value).length === 0}
      empty={
        <>
          <h2>No local chains</h2>
          <p>Every chain has a real node: wallets and payments use that.</p>
        </>
      }
      choose={<Choose />}
      rows={
        <>
          {Object.entries(all).map(([name, { chainId }]) => (
            <Row key={name} part="chains" id={name} title={name}>
              <span class="preview">chain id {chainId}</span>
            </Row>
          ))}
          {requests.value.length > 0 && (
            <li class="group">
              <h3>Payment requests</h3>
            </li>
          )}
          {requests.value.map(({ _id, displayAmount, token, chain, status }) => (
            <Row
              key={_id}
              part="chains"
              id={_id}
              title={`${grouped(displayAmount)} ${token}`}
              moment={<RequestBadge status={status} />}
            >
              <span class="preview">on {chain}</span>
            </Row>
          ))}
        </>
      }
      reader={
        request ? (
          <RequestReader key={open} request={request} />
        ) : Object.hasOwn(all, open) ? (
          <ChainReader key={open} name={open} chain={all[open]!} />
        ) : undefined
      }
    />
  )
}

const Choose = () => (
  <>
    <h2>Local chains</h2>
    <p>
      Each is a real node that starts when it is first used. Choose a chain to see its blocks, to fund an
      address, to mine or to reorganise. Create a wallet with your own account:
    </p>
    <Command text={WALLET} what="the command for a wallet" />
    <p>An open payment request appears in the list, where you can pay it:</p>
    <Command text={REQUEST} what="the command for a payment request" />
  </>
)
