import type { Hex } from '../../../base/hex.ts'
import { sql, type Sql } from '../../../db/sql.ts'
import type { Chain } from '../chains/chain.ts'
import type { RpcAnswer } from '../chains/rpc.ts'
import { TRANSACTION_COLUMNS, type OnchainTransactionRow } from './transaction-rows.ts'
import { verdictOf } from './verdicts.ts'

/** Characters that one request takes, so that providers accept its size. */
const REQUEST_MAX = 500_000

/** A transaction that is in no block, with its newest signed version. */
export type Unmined = OnchainTransactionRow & {
  raw: Hex
  signed_at: number
  /** Wei per unit of gas, decimal. */
  max_fee: string
  /** Why that version cancels the transaction; null: it does not. */
  cancels: string | null
}

/** Those of one queue, the lowest nonce first. */
export const selectUnminedSql = (
  { chain, address }: { chain: string; address: string },
  { isUnsent = false, above = -1, limit }: { isUnsent?: boolean; above?: number; limit: number },
): Sql<Unmined> => sql`
  select ${TRANSACTION_COLUMNS}, ${versionColumn('raw')}, ${versionColumn('created_at', 'signed_at')},
    ${versionColumn('max_fee')}, ${versionColumn('cancels')}
  from onchain_transactions
  where ${unminedSql(chain, address)} and nonce > ${above} ${sql.literal(isUnsent ? 'and broadcast_at is null' : '')}
  order by nonce limit ${limit}`

const versionColumn = (column: string, as = column): Sql =>
  sql.literal(`(select ${column} from onchain_signed s where s.hash = onchain_transactions.hash) as ${as}`)

/** One that is in no block, by its id, with its newest version. */
export const selectUnminedByIdSql = (id: string): Sql<Unmined> => sql`
  select ${TRANSACTION_COLUMNS}, ${versionColumn('raw')}, ${versionColumn('created_at', 'signed_at')},
    ${versionColumn('max_fee')}, ${versionColumn('cancels')}
  from onchain_transactions where id = ${id} and block_number is null and is_final = 0`

export const unminedSql = (chain: string, address: string): Sql =>
  sql`chain = ${chain} and sender = ${address} and block_number is null and is_final = 0`

/** What a node says of the transactions that it got. */
export type Broadcast = {
  /** Those that were sent, the first ones. */
  batch: readonly Unmined[]
  /** Those of them that the node took or had. */
  acceptances: readonly Unmined[]
  /** What it says against the others. */
  refusals: readonly { row: Unmined; reason: string }[]
}

/**
 * Gives signed transactions to a node, in one request. Whether a node takes one is no proof of anything: what counts is what
 * the chain shows later. So the same bytes are sent again until they are in a block.
 *
 * @throws PROVIDER_ERROR if no node answers
 */
export async function broadcast(chain: Chain, rows: readonly Unmined[]): Promise<Broadcast> {
  const batch = rows.slice(0, Math.max(1, countThatFits(rows)))
  const believe = (answers: readonly RpcAnswer[]): string | undefined =>
    answers.every(({ error, result }, at) => error !== undefined || isHash(result, batch[at]!.hash))
      ? undefined
      : 'answers another hash than that of the transaction which it got'
  const answers = await chain.rpc.batch(
    batch.map(({ raw }) => ({ method: 'eth_sendRawTransaction', params: [raw] })),
    { believe },
  )
  const isTaken = ({ error }: RpcAnswer): boolean => !error || verdictOf(error.message) === 'known'
  return {
    batch,
    acceptances: batch.filter((_row, at) => isTaken(answers[at]!)),
    refusals: batch.flatMap((row, at) => {
      const answer = answers[at]!
      return isTaken(answer) ? [] : [{ row, reason: answer.error!.message }]
    }),
  }
}

/** Marks versions of which a node has said that it has them. */
export const seenSql = (hashes: readonly Hex[], now: number): Sql => sql`
  update onchain_signed set seen_at = ${now} where hash in (${sql.join(hashes)}) and seen_at is null`

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
