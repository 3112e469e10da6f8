import { signal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { isError } from '../../client/src/index.ts'
import { Problem } from '../../console/src/parts/load.tsx'
import { Copy, Facts, Id, Time } from '../../console/src/parts/text.tsx'
import { Actions, text, type PageAction } from './actions.tsx'
import { grouped } from './amounts.ts'
import { FundForm, NATIVE, TOKEN } from './fund-form.tsx'
import { Title } from './panes.tsx'
import { ask } from './server.ts'

export type SandboxChain = {
  rpcUrl: string
  chainId: number
  accounts: { address: string; privateKey: string }[]
  contracts: Record<string, string>
}
type Transfer = { from: string; to: string; amount: string; token: string }
type Transaction = { hash: string; from: string; to: string | null; value: string; transfers: Transfer[] }
type Block = { number: number; timestamp: string; hash: string; transactions: Transaction[] }
type Balance = { address: string; balance: string; erc20: string }
/** What the node of a chain has; `error` is what it answered last instead. */
type NodeState = { blocks: readonly Block[]; balances: readonly Balance[]; error?: unknown }

const BLOCKS = 10
const CONTRACTS: Readonly<Record<string, string>> = {
  erc20: `ERC-20, ${TOKEN}`,
  erc721: 'ERC-721',
  erc1155: 'ERC-1155',
}

const nodes = signal<ReadonlyMap<string, NodeState>>(new Map())

const pathOf = (name: string): string => `/chains/${encodeURIComponent(name)}`

/** Fetches what changes; the first time starts the node. An error of the node is shown; without an answer the page tries again. */
export async function refreshChain(name: string): Promise<void> {
  const before = nodes.peek().get(name) ?? { blocks: [], balances: [] }
  let now: NodeState
  try {
    const [{ blocks }, { accounts }] = await Promise.all([
      ask<{ blocks: Block[] }>('GET', `${pathOf(name)}/blocks?limit=${BLOCKS}`),
      ask<{ accounts: Balance[] }>('GET', `${pathOf(name)}/balances`),
    ])
    now = { blocks, balances: accounts }
  } catch (error) {
    if (!isError(error)) throw error
    now = { ...before, error }
  }
  nodes.value = new Map(nodes.peek()).set(name, now)
}

/** A number of an action's field; what is none is refused by the server. */
const numberOf = (typed: string): number | string =>
  typed === '' ? 1 : /^\d+$/.test(typed) ? Number(typed) : typed

const actionsOf = (path: string): readonly PageAction[] => [
  {
    label: 'Mine',
    field: text('blocks', 'Blocks', '1'),
    path: `${path}/mine`,
    body: (typed) => ({ blocks: numberOf(typed) }),
    done: ({ number }) => `Block ${String(number)} is the head`,
    isRepeatable: true,
  },
  {
    label: 'Reorganise',
    field: text('depth', 'Depth', '1'),
    path: `${path}/reorg`,
    body: (typed) => ({ depth: numberOf(typed) }),
    done: ({ number }) => `The chain is reorganised: block ${String(number)} is the head`,
    isRepeatable: true,
  },
]

/** What the reader shows of a chain. */
export function ChainReader({ name, chain }: { name: string; chain: SandboxChain }) {
  const { blocks = [], balances = [], error } = nodes.value.get(name) ?? {}
  const nameOf = namesOf(chain)
  useEffect(() => void refreshChain(name).catch(() => undefined), [name])
  return (
    <>
      <Title>{name}</Title>
      <Facts
        of={[
          ['Chain id', <Id what="the chain id">{String(chain.chainId)}</Id>],
          ['RPC address', <Id what="the RPC address">{chain.rpcUrl}</Id>],
          ['Head', blocks[0] ? `block ${blocks[0].number}` : 'the node is starting'],
          ...Object.entries(chain.contracts).map(([kind, address]): [string, ComponentChild] => {
            const name = CONTRACTS[kind] ?? kind
            return [name, <Id what={`the address of ${name}`}>{address}</Id>]
          }),
        ]}
      />
      {error !== undefined && <Problem error={error} />}
      <FundForm path={pathOf(name)} />
      <div class="panel">
        <h3>Blocks</h3>
        <Actions part="chains" actions={actionsOf(pathOf(name))} />
        <ol class="blocks" aria-label="Latest blocks">
          {blocks.map((block) => (
            <BlockItem key={block.hash} block={block} nameOf={nameOf} />
          ))}
        </ol>
      </div>
      <details class="panel" open>
        <summary>Accounts</summary>
        <ul class="accounts" aria-label="Accounts">
          {chain.accounts.map(({ address, privateKey }, at) => (
            <AccountItem
              key={address}
              at={at}
              address={address}
              privateKey={privateKey}
              balance={balances.find((one) => one.address === address)}
            />
          ))}
        </ul>
      </details>
    </>
  )
}

function AccountItem(props: {
  at: number
  address: string
  privateKey: string
  balance: Balance | undefined
}) {
  const { at, address, privateKey, balance: { balance, erc20 } = { balance: '…', erc20: '…' } } = props
  const [isShown, setShown] = useState(false)
  return (
    <li>
      <p class="line">
        <strong>Account {at}</strong>
        <span>
          {grouped(balance)} {NATIVE}, {grouped(erc20)} {TOKEN}
        </span>
      </p>
      <p class="line">
        <Id what={`the address of account ${at}`}>{address}</Id>
        <button
          class="small"
          type="button"
          aria-expanded={isShown}
          aria-label={`${isShown ? 'Hide key' : 'Private key'} of account ${at}`}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? 'Hide key' : 'Private key'}
        </button>
      </p>
      {isShown && <Id what={`the private key of account ${at}`}>{privateKey}</Id>}
    </li>
  )
}

const BlockItem = ({ block, nameOf }: { block: Block; nameOf: (address: string) => string }) => (
  <li>
    <p class="line">
      <span>
        <strong>Block {block.number}</strong> <code title={block.hash}>{short(block.hash)}</code>
      </span>
      <Time at={block.timestamp} />
    </p>
    {block.transactions.map((transaction) => (
      <p key={transaction.hash} class="transaction">
        <code title={transaction.hash}>{short(transaction.hash)}</code>
        <Copy text={transaction.hash} what={`the hash ${short(transaction.hash)}`} />
        {movementsOf(transaction, nameOf).map((text) => (
          <span key={text}>{text}</span>
        ))}
      </p>
    ))}
  </li>
)

/** What a transaction moved: coin, or tokens no matter who called their contract. */
function movementsOf(transaction: Transaction, nameOf: (address: string) => string): string[] {
  const { from, to, value, transfers } = transaction
  const moved = value === '0' ? '' : `, ${grouped(value)} ${NATIVE}`
  return [
    ...(value !== '0' || transfers.length === 0
      ? [`${nameOf(from)} → ${to ? nameOf(to) : 'a new contract'}${moved}`]
      : []),
    ...transfers.map((one) => `${nameOf(one.from)} → ${nameOf(one.to)}, ${grouped(one.amount)} ${one.token}`),
  ]
}

/** The beginning and the end of a hash or an address. */
const short = (hex: string): string => `${hex.slice(0, 8)}…${hex.slice(-4)}`

/** Names the addresses of the sandbox; another one is shortened. */
function namesOf({ accounts, contracts }: SandboxChain): (address: string) => string {
  const names = new Map([
    [`0x${'0'.repeat(40)}`, 'minted'],
    ...accounts.map(({ address }, at): [string, string] => [address.toLowerCase(), `account ${at}`]),
    ...Object.entries(contracts).map(([kind, address]): [string, string] => [
      address.toLowerCase(),
      CONTRACTS[kind] ?? kind,
    ]),
  ])
  return (address) => names.get(address.toLowerCase()) ?? short(address)
}
