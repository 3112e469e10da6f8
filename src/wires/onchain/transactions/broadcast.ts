import type { Hex } from 'viem'

import { sql, type Sql } from '../../../db/sql.ts'
import type { Chain } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import { TRANSACTION_COLUMNS, type TransactionRow } from './transaction-rows.ts'

/** Characters that one request takes, so that providers accept its size. */
const REQUEST_MAX = 500_000
/** What nodes answer about a transaction that they or the chain have. */
const HAS_IT = /already|known|nonce|underpriced/i

/** A transaction that is in no block, with its newest signed version. */
export type Unmined = TransactionRow & { raw: Hex; signed_at: number }

/** Those of one line, the lowest nonce first. */
export const selectUnminedSql = (
  { chain, address }: { chain: string; address: string },
  { isUnsent = false, limit }: { isUnsent?: boolean; limit: number },
): Sql<Unmined> => sql`
  select ${TRANSACTION_COLUMNS},
    (select raw from onchain_signed s where s.hash = onchain_transactions.hash) as raw,
    (select created_at from onchain_signed s where s.hash = onchain_transactions.hash) as signed_at
  from onchain_transactions
  where ${unminedSql(chain, address)} ${sql.literal(isUnsent ? 'and broadcast_at is null' : '')}
  order by nonce limit ${limit}`

export const unminedSql = (chain: string, address: string): Sql =>
  sql`chain = ${chain} and sender = ${address} and block_number is null and is_final = 0`

/**
 * Gives signed transactions to a node, in one request. It does not matter whether a node says that it takes one, has it or
 * refuses it: what counts is what the chain shows later. So the same bytes are sent again until they are in a block.
 *
 * @returns those that were sent, the first ones, and what a node says against them
 * @throws PROVIDER_ERROR if no node answers
 */
export async function broadcast(
  chain: Chain,
  rows: readonly Unmined[],
): Promise<{ sent: readonly Unmined[]; refusals: { hash: Hex; reason: string }[] }> {
  const sent = rows.slice(0, Math.max(1, countThatFits(rows)))
  const believe = (answers: readonly RpcAnswer[]): string | undefined =>
    answers.every(({ error, result }, at) => error !== undefined || isHash(result, sent[at]!.hash))
      ? undefined
      : 'answers another hash than that of the transaction which it got'
  const answers = await chain.rpc.batch(
    sent.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    { believe },
  )
  const refusals = answers.flatMap(({ error }, at) =>
    error && !HAS_IT.test(error.message) ? [{ hash: sent[at]!.hash, reason: error.message }] : [],
  )
  return { sent, refusals }
}

/** Marks transactions as sent, unless there is a newer version of them by now. */
export const sentSql = (rows: readonly Unmined[], now: number): Sql => sql`
  update onchain_transactions set broadcast_at = ${now}, broadcasts = broadcasts + 1
  where id in (${sql.join(rows.map(({ id }) => id))}) and hash in (${sql.join(rows.map(({ hash }) => hash))})
    and block_number is null`

function countThatFits(rows: readonly Unmined[]): number {
  let characters = 0
  const at = rows.findIndex(({ raw }) => (characters += raw.length) > REQUEST_MAX)
  return at === -1 ? rows.length : at
}

const isHash = (result: unknown, hash: Hex): boolean =>
  typeof result === 'string' && result.toLowerCase() === hash
