// How nodes fail that are given a transaction.
import { parseEther, parseTransaction } from 'viem'

import type { Hex } from '../../../base/hex.ts'
import type { ProxyFault, RpcProxy } from '../../../testing/rpc-proxy.ts'

export const SEND = 'eth_sendRawTransaction'

/** What a node that is asked first does to a transaction. */
export const FAULTS: Record<string, ProxyFault> = {
  'drops it before': { drop: 'before' },
  'drops the answer': { drop: 'after' },
  'answers 500': { status: 500 },
  'answers another hash': { lie: () => `0x${'11'.repeat(32)}` },
  'forwards it twice': { twice: true },
  'says already known': { error: { code: -32_000, message: 'already known' } },
  'refuses it': { error: { code: -32_000, message: 'txpool is full' } },
}

/** Has nodes refuse the transfers of an amount. */
export const refuse = (nodes: readonly RpcProxy[], value: string, fault: ProxyFault): (() => void) => {
  const isOfValue = ({ params }: { params?: unknown[] }): boolean =>
    parseTransaction(params![0] as Hex).value === parseEther(value)
  const heals = nodes.map((node) => node.fault({ ...fault, method: SEND, when: isOfValue }))
  return () => heals.forEach((heal) => heal())
}

export const refusal = (message: string): ProxyFault => ({ error: { code: -32_000, message } })

/** After these no node takes a transaction. */
export const REFUSALS = [
  'oversized data: transaction size 131189, limit 131072',
  'tx fee (1.05 ether) exceeds the configured cap (1.00 ether)',
  'intrinsic gas too low: gas 21000, minimum needed 53000',
  'INTERNAL_ERROR: RLPTooLong',
  'GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 50000000',
  'Transaction gas limit exceeds block gas limit',
]

/** Answers of two nodes after which one may take it. */
export const NOT_FOR_GOOD: [what: string, first: ProxyFault, second: ProxyFault][] = [
  ['one node gives no answer', refusal(REFUSALS[0]!), { status: 500 }],
  ['one node has it', refusal(REFUSALS[0]!), refusal('already known')],
  ['one node says that its nonce is used', refusal(REFUSALS[0]!), refusal('nonce too low')],
  [
    'one node has another one of its nonce',
    refusal(REFUSALS[0]!),
    refusal('replacement transaction underpriced'),
  ],
  ['money is missing', refusal('insufficient funds for gas * price + value'), refusal('txpool is full')],
]
