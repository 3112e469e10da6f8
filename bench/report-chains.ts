import type { ChainsResult } from './chains.ts'
import type { ReadResult } from './contract-reads.ts'
import type { WatchResult } from './payment-watch.ts'
import { fine, reached, table, whole } from './report-table.ts'
import type { TransferResult } from './transfers.ts'

// The figures to reach.
const TRANSFER_RATIO = 0.6
const READ_MS = 2
const BLOCKS = 1
const RESTART_MS = 3_000

const transferTable = ({ callers, rows }: TransferResult, subject: string): string =>
  table([
    [
      `transfers for ${callers} callers`,
      'viem a second',
      'gas and fees given',
      `${subject} a second`,
      'ratio',
      'of rounds',
      'to reach',
    ],
    ...rows.map(({ wallets, bare, blind, subject: other, ratio, ratios }) => [
      `from ${wallets === 1 ? 'one wallet' : `${wallets} wallets`}`,
      whole(bare),
      whole(blind),
      whole(other),
      fine(ratio),
      `${fine(Math.min(...ratios))}-${fine(Math.max(...ratios))}`,
      reached(ratio >= TRANSFER_RATIO, `≥ ${TRANSFER_RATIO}`),
    ]),
  ])

const readTable = ({ bare, subject: other, more }: ReadResult, subject: string): string =>
  table([
    ['reads of a contract', 'p50 ms', 'more than the node', 'to reach'],
    ['eth_call at the node', fine(bare), '', ''],
    [subject, fine(other), fine(more), reached(more <= READ_MS, `≤ ${READ_MS}`)],
  ])

function watchTables({ perBlock, detection, restart }: WatchResult): string[] {
  const [few, many] = perBlock
  const isSame = few !== undefined && many !== undefined && Math.abs(few.requests - many.requests) < 0.5
  return [
    table([
      ['open payment requests', 'requests to the node a block', 'calls in them', 'to reach'],
      ...perBlock.map(({ open, requests, calls }, at) => [
        whole(open),
        fine(requests),
        fine(calls),
        at === 0 ? '' : reached(isSame, 'the same'),
      ]),
    ]),
    table([
      ['payments', 'figure', 'to reach'],
      [
        `blocks until ${detection.payments} payments were detected, at most (median ${whole(detection.ms)} ms)`,
        whole(detection.blocks),
        reached(detection.blocks <= BLOCKS, `≤ ${BLOCKS}`),
      ],
      [
        `start with ${whole(restart.open)} open requests to the first correct answer, ms (ready after ${whole(restart.readyMs)})`,
        whole(restart.answerMs),
        reached(restart.answerMs <= RESTART_MS, `≤ ${whole(RESTART_MS)}`),
      ],
    ]),
  ]
}

export const chainsTables = (chains: ChainsResult, subject: string): string[] => [
  transferTable(chains.transfers, subject),
  readTable(chains.reads, subject),
  ...watchTables(chains.watch),
]
